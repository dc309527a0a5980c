"""The one walk over the sections of an encoded AMQP 1.0 message.

It reads descriptors and lengths only: what a section holds is for `values.read`. The bytes may be anything:
the walk takes one step for each section, and does not call itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectors.amqp import values
from collectors.amqp.values import BadEncoding

HEADER: Final = 0x70
DELIVERY_ANNOTATIONS: Final = 0x71
MESSAGE_ANNOTATIONS: Final = 0x72
PROPERTIES: Final = 0x73
APPLICATION_PROPERTIES: Final = 0x74
DATA: Final = 0x75
VALUE: Final = 0x77

_DESCRIBED, _SMALL_ULONG, _ULONG = 0x00, 0x53, 0x80
# By type code: how many bytes the value takes, or else the length that stands in front of it.
_VALUE_BYTES: Final = {code: width for code, (width, _) in values.FIXED.items()}
_LENGTH_BYTES: Final = {
    **{code: width for code, (width, _) in values.VARIABLE.items()},
    **dict.fromkeys((0xC0, 0xC1, 0xE0), 1),
    **dict.fromkeys((0xD0, 0xD1, 0xF0), 4),
}

Section = tuple[int, int, int, int]


def walk(data: bytes) -> Iterator[Section]:
    """Yields (descriptor, begin, begin of the value, end) of each section, in order.

    The last section may be cut: then its end is behind the end of the data. Raises BadEncoding for bytes
    that are not a section.
    """
    at, size = 0, len(data)
    try:
        while at < size:
            begin = at
            if data[at] != _DESCRIBED:
                raise BadEncoding("a section does not begin with a descriptor")
            if data[at + 1] == _SMALL_ULONG:
                descriptor, value_at = data[at + 2], at + 3
            elif data[at + 1] == _ULONG:
                descriptor, value_at = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            else:
                raise BadEncoding("the descriptor of a section is not a number")
            at = end_of_value(data, value_at)
            yield descriptor, begin, value_at, at
    except IndexError:
        raise BadEncoding("the message ends in the middle of a section") from None


def end_of_value(data: bytes, at: int) -> int:
    """Returns the place behind a value, which is behind the end of the data where the value is cut.

    Raises BadEncoding for an unknown type code, IndexError where the data ends before its length.
    """
    left = 1
    while left:
        code = data[at]
        length_bytes = _LENGTH_BYTES.get(code)
        if length_bytes == 1:
            at += 2 + data[at + 1]
        elif length_bytes:
            at += 5 + int.from_bytes(data[at + 1 : at + 5], "big")
        elif code in _VALUE_BYTES:
            at += 1 + _VALUE_BYTES[code]
        elif code == _DESCRIBED:  # a descriptor and a value, each of which may be described again
            at += 1
            left += 2
        else:
            raise BadEncoding(f"no type has the code {code:#04x}")
        left -= 1
    return at


def read_item(data: bytes, value_at: int, place: int) -> Any:
    """Returns the item at a place of a section's list; None where the list is shorter.

    Raises BadEncoding for a value that is no list.
    """
    items, _ = values.read(data, value_at)
    if not isinstance(items, list):
        raise BadEncoding("a section is not a list")
    return items[place] if place < len(items) else None
