"""Decodes values from AMQP 1.0's encoding.

This is written by hand because of its cost: management replies have hundreds of thousands of small values,
and proton's `Data` makes several calls into C for each. This is several times cheaper
(tests/bench/collectors.py).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

_DESCRIBED: Final = 0x00
# The types that most values of replies have.
_NULL, _ZERO, _SMALL_ULONG, _SMALL_LONG, _LONG, _SHORT_TEXT = 0x40, 0x44, 0x53, 0x55, 0x81, 0xA1
_MAPS, _ARRAYS = (0xC1, 0xD1), (0xE0, 0xF0)  # with one byte of length, and with four

_PAIR: Final = struct.Struct(">II")
MAX_DEPTH: Final = 32

_SIGNED: Final = tuple(number if number < 128 else number - 256 for number in range(256))  # noqa: PLR2004

_Decode = Callable[[bytes], Any]


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _unsigned(data: bytes) -> int:
    return int.from_bytes(data, "big")


# By type code: how many bytes follow, and how they are decoded.
FIXED: Final[dict[int, tuple[int, _Decode]]] = {
    0x40: (0, lambda _: None),
    0x41: (0, lambda _: True),
    0x42: (0, lambda _: False),
    0x43: (0, lambda _: 0),
    0x44: (0, lambda _: 0),
    0x45: (0, lambda _: []),
    0x56: (1, lambda data: data != b"\0"),
    **dict.fromkeys((0x50, 0x52, 0x53), (1, _unsigned)),
    **dict.fromkeys((0x51, 0x54, 0x55), (1, _signed)),
    0x60: (2, _unsigned),
    0x61: (2, _signed),
    0x70: (4, _unsigned),
    0x71: (4, _signed),
    0x72: (4, lambda data: struct.unpack(">f", data)[0]),
    0x73: (4, lambda data: chr(_unsigned(data))),
    0x74: (4, bytes),  # decimals stay bytes: no router sends them
    0x80: (8, _unsigned),
    0x81: (8, _signed),
    0x82: (8, lambda data: struct.unpack(">d", data)[0]),
    0x83: (8, _signed),  # a time, in ms
    0x84: (8, bytes),
    0x94: (16, bytes),
    0x98: (16, lambda data: uuid.UUID(bytes=data)),
}
# By type code: how many bytes the length takes, and how that many are decoded.
VARIABLE: Final[dict[int, tuple[int, _Decode]]] = {
    0xA0: (1, bytes),
    0xB0: (4, bytes),
    **dict.fromkeys((0xA1, 0xA3), (1, lambda data: data.decode())),
    **dict.fromkeys((0xB1, 0xB3), (4, lambda data: data.decode())),
}


class BadEncoding(ValueError):  # noqa: N818 -- it names the bytes
    """The bytes are not a value of AMQP's."""


def read(data: bytes, at: int = 0) -> tuple[Any, int]:
    """Returns the value at a place, and the place behind it. Raises BadEncoding where there is no value."""
    try:
        value, end = _value(data, at, 0)
    except (IndexError, TypeError, ValueError, OverflowError, struct.error) as error:
        raise BadEncoding(str(error)) from None
    if end > len(data):
        raise BadEncoding("a value goes on behind the end")
    return value, end


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    return _coded(data[at], data, at + 1, depth)


def _coded(code: int, data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """Reads a value whose type code is known; `at` is the place behind the code."""
    if (fixed := FIXED.get(code)) is not None:
        end = at + fixed[0]
        return fixed[1](data[at:end]), end
    if (variable := VARIABLE.get(code)) is not None:
        start = at + variable[0]
        end = start + _unsigned(data[at:start])
        return variable[1](data[start:end]), end
    if depth >= MAX_DEPTH:
        raise BadEncoding("values within values, too deep")
    if code == _DESCRIBED:
        _, at = _value(data, at, depth + 1)
        return _value(data, at, depth + 1)
    if code in (0xC0, 0xC1, 0xE0):
        size, count, start, end = data[at], data[at + 1], at + 2, at + 1 + data[at]
    elif code in (0xD0, 0xD1, 0xF0):
        size, count = _PAIR.unpack_from(data, at)
        start, end = at + 8, at + 4 + size
    else:
        raise BadEncoding(f"no type has the code {code:#04x}")
    if count > size or end > len(data):
        raise BadEncoding("more is promised than there is")
    if code in _ARRAYS:
        return _array(data, start, count, depth), end
    items, stop = _items(data, start, count, depth + 1)
    if stop != end:
        raise BadEncoding("a list is not as long as it says")
    return (_map(items) if code in _MAPS else items), end


def _items(data: bytes, at: int, count: int, depth: int) -> tuple[list[Any], int]:
    """Reads values in a row. The frequent types are read here: a call for each would cost."""
    found: list[Any] = []
    add, from_bytes = found.append, int.from_bytes
    for _ in range(count):
        code = data[at]
        if code == _SMALL_LONG:
            add(_SIGNED[data[at + 1]])
            at += 2
        elif code == _ZERO:
            add(0)
            at += 1
        elif code == _SHORT_TEXT:
            start = at + 2
            at = start + data[at + 1]
            add(data[start:at].decode())
        elif code == _SMALL_ULONG:
            add(data[at + 1])
            at += 2
        elif code == _NULL:
            add(None)
            at += 1
        elif code == _LONG:
            add(from_bytes(data[at + 1 : at + 9], "big", signed=True))
            at += 9
        else:
            value, at = _value(data, at, depth)
            add(value)
    return found, at


def _map(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2:
        raise BadEncoding("a map with a key that has no value")
    return dict(zip(items[::2], items[1::2], strict=True))


def _array(data: bytes, at: int, count: int, depth: int) -> list[Any]:
    """Reads an array: its type code stands once, before the items."""
    if data[at] == _DESCRIBED:
        _, at = _value(data, at + 1, depth + 1)
    code = data[at]
    at += 1
    found: list[Any] = []
    for _ in range(count):
        value, at = _coded(code, data, at, depth + 1)
        found.append(value)
    return found
