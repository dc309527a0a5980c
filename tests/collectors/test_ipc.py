"""Records read in place are what pyarrow reads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import Flow

from collectors import ipc, record_codec
from collectors.record_codec import decode
from collectors.records import BadRecord, Record

WRITTEN = [value for rate in (1, 7, 300) for value in Flow("a path", rate, lose_every=5).records(3, bye=True)]


def read(data: bytes, monkeypatch: pytest.MonkeyPatch, *, known: bool) -> Record | None:
    """What is read with the forms of good records known, or with none; None: a bad record."""
    monkeypatch.setattr(record_codec, "_KNOWN", ipc.Forms())
    if known:
        for value in WRITTEN:
            decode(value)
    try:
        return decode(data)
    except BadRecord:
        return None


def same(one: Record, other: Record) -> bool:
    """Header and columns."""
    pairs = ((one.received, other.received), (one.ledger, other.ledger))
    return one.header == other.header and all(
        (a is None and b is None) or (a is not None and b is not None and all(map(np.array_equal, a, b)))
        for a, b in pairs
    )


@pytest.mark.parametrize("place", range(len(WRITTEN)))
def test_a_record_of_a_known_form_is_read_without_pyarrow(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is the same."""
    by_pyarrow = read(WRITTEN[place], monkeypatch, known=False)
    decode(WRITTEN[place])

    def refuse(*_: Any) -> Any:
        raise AssertionError("pyarrow was asked")

    monkeypatch.setattr(pa.ipc, "open_stream", refuse)
    assert by_pyarrow is not None
    assert same(decode(WRITTEN[place]), by_pyarrow)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32))
def test_damaged_bytes_are_what_pyarrow_reads_in_them(seed: int) -> None:
    """Wherever pyarrow reads a record at all; it also looks at bytes that mean nothing here."""
    chance = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    data = bytearray(chance.choice(WRITTEN))
    for _ in range(chance.choice((1, 1, 2, 5))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.1:
        del data[chance.randrange(len(data)) :]
    with pytest.MonkeyPatch.context() as patch:
        by_pyarrow = read(bytes(data), patch, known=False)
        in_place = read(bytes(data), patch, known=True)
    if by_pyarrow is not None:
        assert in_place is not None
        assert same(in_place, by_pyarrow)


@pytest.mark.parametrize("change", [b"", b"\0" * 8, b"\xff\xff\xff\xff\x08\0\0\0" + b"\0" * 8])
def test_a_stream_that_does_not_end_after_its_batch_is_left_to_pyarrow(
    change: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second batch may follow."""
    data = WRITTEN[0][:-8] + change
    by_pyarrow = read(data, monkeypatch, known=False)
    in_place = read(data, monkeypatch, known=True)
    assert (by_pyarrow is None) == (in_place is None)
