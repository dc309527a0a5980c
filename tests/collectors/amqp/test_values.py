"""AMQP's encoding of values, against proton's."""

from __future__ import annotations

import contextlib
import struct
import uuid
from typing import Any

import proton
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import Message

from collectors.amqp import sections, values
from collectors.amqp.values import BadEncoding

VALUE = 0x77
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(0, 2**64 - 1).map(proton.ulong)
    | st.integers(0, 2**32 - 1).map(proton.uint)
    | st.integers(-(2**31), 2**31 - 1).map(proton.int32)
    | st.integers(0, 2**16 - 1).map(proton.ushort)
    | st.integers(-128, 127).map(proton.byte)
    | st.integers(0, 255).map(proton.ubyte)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=400)
    | st.text("abc:-", max_size=300).map(proton.symbol)
    | st.binary(max_size=300)
    | st.uuids()
    | st.integers(-(2**62), 2**62).map(proton.timestamp)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=300) | st.dictionaries(st.text("abcd", max_size=5), inner),
    max_leaves=400,
)


def encoded(value: Any) -> bytes:
    return bytes(Message(body=value).encode())


def value_at(data: bytes) -> int:
    """Where the value of a message's only body section begins."""
    return next(at for descriptor, _, at, _ in sections.walk(data) if descriptor == VALUE)


def plain(value: Any) -> Any:
    """Proton's own classes of numbers and texts as Python's."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, bool):
        return value
    for kind in (int, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    return value


@given(VALUES)
def test_what_proton_writes_is_read(value: Any) -> None:
    """Every type that proton can send comes out as what went in."""
    data = encoded([value])
    found, end = values.read(data, value_at(data))
    assert found == [plain(value)]
    assert end == len(data)


@given(VALUES, st.data())
def test_a_cut_value_is_told(value: Any, draw: st.DataObject) -> None:
    """However much of the end is missing, half a value is never taken for a whole one."""
    data = encoded([value])
    start = value_at(data)
    cut = draw.draw(st.integers(start, len(data) - 1))
    with pytest.raises(BadEncoding):
        values.read(data[:cut], start)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_told(data: bytes) -> None:
    """Nothing else is raised, and nothing takes long."""
    for reading in (values.read, lambda data: list(sections.walk(data))):
        with contextlib.suppress(BadEncoding):
            reading(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x45", []),
        (b"\xc0\x01\x00", []),
        (b"\xc0\x03\x02\x44\x43", [0, 0]),
        (b"\x56\x01", True),
        (b"\x72" + struct.pack(">f", 0.5), 0.5),
        (b"\xe0\x05\x03\x53\x01\x02\x03", [1, 2, 3]),
        (b"\xe0\x07\x02\xa1\x01a\x02bc", ["a", "bc"]),
        (b"\x00\xa3\x01x\x53\x07", 7),
        (b"\x98" + bytes(16), uuid.UUID(int=0)),
    ],
)
def test_forms_that_proton_does_not_write(data: bytes, value: Any) -> None:
    """The standard's other forms: empty and short lists, arrays, a described value."""
    assert values.read(data) == (value, len(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x99",  # no such code
        b"\xc0\x02\x01",  # promises a value that is not there
        b"\xc0\x03\x01\x44\x44",  # two where one is promised
        b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40",  # 4 billion nulls
        b"\xa1\x02\xff\xff",  # no UTF-8
        b"\xc1\x02\x01\x44",  # a key with no value
        b"\xc1\x05\x02\xc0\x01\x00\x44",  # a list as a key
        b"\xc0\xff\x01" * 100,  # lists in lists in lists
    ],
)
def test_nonsense_is_told(data: bytes) -> None:
    """It costs neither memory nor the process."""
    with pytest.raises(BadEncoding):
        values.read(data)
