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

from collectors.contract import arrow_stream, record_codec
from collectors.contract.record_codec import decode
from collectors.contract.records import BadRecord, Record

WRITTEN = [value for rate in (1, 7, 300) for value in Flow("a path", rate, lose_every=5).records(3, bye=True)]


def read(data: bytes, monkeypatch: pytest.MonkeyPatch, *, known: bool) -> Record | None:
    """What is read with the forms of good records known, or with none; None: a bad record."""
    monkeypatch.setattr(record_codec, "_KNOWN", arrow_stream.Forms())
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


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_damaged_bytes_are_read_the_same_whatever_was_read_before(seed: int) -> None:
    """As pyarrow reads them: a restart, or another order, must not make another record of them."""
    chance = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    data = bytearray(chance.choice(WRITTEN))
    for _ in range(chance.choice((1, 1, 2, 5))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.1:
        del data[chance.randrange(len(data)) :]
    with pytest.MonkeyPatch.context() as patch:
        by_pyarrow = read(bytes(data), patch, known=False)
        in_place = read(bytes(data), patch, known=True)
        again = read(bytes(data), patch, known=True)
    if by_pyarrow is None or in_place is None or again is None:
        assert by_pyarrow is in_place is again is None
    else:
        assert same(in_place, by_pyarrow)
        assert same(again, by_pyarrow)


@pytest.mark.parametrize("change", [b"", b"\0" * 8, b"\xff\xff\xff\xff\x08\0\0\0" + b"\0" * 8])
def test_a_stream_that_does_not_end_after_its_batch_is_left_to_pyarrow(
    change: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second batch may follow."""
    data = WRITTEN[0][:-8] + change
    by_pyarrow = read(data, monkeypatch, known=False)
    in_place = read(data, monkeypatch, known=True)
    assert (by_pyarrow is None) == (in_place is None)


def stream(metadata: dict[str, bytes | str], body: pa.RecordBatch, **options: Any) -> bytes:
    """The same rows with this metadata."""
    batch = body.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def parts() -> tuple[dict[str, bytes], pa.RecordBatch]:
    """The metadata and the rows of a record."""
    with pa.ipc.open_stream(WRITTEN[0]) as found:
        batch = found.read_next_batch()
        return {name.decode(): text for name, text in found.schema.metadata.items()}, batch


def test_a_second_text_like_the_header_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where a stream came before in which both were the same."""
    metadata, batch = parts()
    other = metadata["inflight"].replace(b'"number":0', b'"number":9')
    assert other != metadata["inflight"]
    monkeypatch.setattr(record_codec, "_KNOWN", arrow_stream.Forms())
    for second in (metadata["inflight"], other):
        assert decode(stream({**metadata, "a": second}, batch)).header.number == 0


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_is_compressed_is_refused_unread(codec: str) -> None:
    """A few kB would take all memory."""
    metadata, batch = parts()
    zeros = pa.array(np.zeros(batch.num_rows, np.int64))
    with pytest.raises(BadRecord, match="uncompressed"):
        decode(stream(metadata, batch.append_column("more", zeros), compression=codec))
    assert decode(stream(metadata, batch)).header == decode(WRITTEN[0]).header


def test_a_byte_order_that_is_not_ours_is_refused() -> None:
    """It would be read right once, and wrong when the form is known."""
    data = bytearray(WRITTEN[0])
    table = pa.ipc.read_schema(pa.py_buffer(WRITTEN[0]))
    assert len(table) == 6
    assert arrow_stream.is_plain(bytes(data))
    # The schema's table has its fields' places in a table before it; an order is not among them as long as
    # it is little-endian. Any place makes it be there.
    root = 8 + int.from_bytes(data[8:12], "little")
    vtable = root - int.from_bytes(data[root : root + 4], "little", signed=True)
    header = root + int.from_bytes(data[vtable + 8 : vtable + 10], "little")
    schema = header + int.from_bytes(data[header : header + 4], "little")
    order = schema - int.from_bytes(data[schema : schema + 4], "little", signed=True) + 4
    assert data[order : order + 2] == b"\0\0"
    data[order : order + 2] = (4).to_bytes(2, "little")
    assert not arrow_stream.is_plain(bytes(data))
    with pytest.raises(BadRecord):
        decode(bytes(data))


def test_what_is_learned_takes_no_more_than_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms come from anybody: long ones are not learned, many push each other out."""
    metadata, batch = parts()
    known = arrow_stream.Forms()
    monkeypatch.setattr(record_codec, "_KNOWN", known)
    monkeypatch.setattr(arrow_stream, "_ROOM", 20_000)
    for number in range(50):
        decode(stream({**metadata, "more": "x" * number * 8}, batch))
        decode(stream({**metadata, "more": "x" * 100_000}, batch))
        held = sum(map(len, known._batches)) + sum(map(len, (b"".join(f[1:]) for f in known._known)))  # noqa: SLF001 -- what is held
        assert held <= 20_000
    assert held > 0
