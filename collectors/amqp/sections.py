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
_FIXED_BYTES: Final = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}  # by the first digit of the type code
_ONE_BYTE_LENGTH: Final = frozenset((0xA, 0xC, 0xE))
_FOUR_BYTE_LENGTH: Final = frozenset((0xB, 0xD, 0xF))

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
        kind = code >> 4
        if kind in _ONE_BYTE_LENGTH:
            at += 2 + data[at + 1]
        elif kind in _FOUR_BYTE_LENGTH:
            at += 5 + int.from_bytes(data[at + 1 : at + 5], "big")
        elif kind in _FIXED_BYTES:
            at += 1 + _FIXED_BYTES[kind]
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
