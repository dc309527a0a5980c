"""What a router reads and writes in encoded messages: the field `to`, and the annotations of its own."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER, DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, PROPERTIES = 0x70, 0x71, 0x72, 0x73
_NULL, _STR8, _STR32, _SYM8, _SYM32 = 0x40, 0xA1, 0xB1, 0xA3, 0xB3
_LIST0, _LIST8, _LIST32, _MAP8, _MAP32 = 0x45, 0xC0, 0xD0, 0xC1, 0xD1
_TO_FIELD = 2  # message-id, user-id, to
OWN_ANNOTATION = b"x-opt-qd."


class MalformedError(ValueError):
    """The bytes are not an AMQP message."""


def _end_of_value(data: bytes, at: int) -> int:
    """Return the offset behind the value at `at`; its width is in the constructor's high digit."""
    code = data[at]
    if code == 0x00:  # described: descriptor and value
        return _end_of_value(data, _end_of_value(data, at + 1))
    width = code >> 4
    if 0x4 <= width <= 0x9:  # noqa: PLR2004 -- fixed widths 0, 1, 2, 4, 8, 16
        end = at + 1 + (0, 1, 2, 4, 8, 16)[width - 4]
    elif width in (0xA, 0xC, 0xE):
        end = at + 2 + data[at + 1]
    elif width in (0xB, 0xD, 0xF):
        end = at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
    else:
        raise MalformedError(f"no AMQP constructor: 0x{code:02x}")
    if end > len(data):
        raise MalformedError("a value runs over the end of the message")
    return end


def sections(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield (code, begin, begin of the value, end) of each section up to the body."""
    at = 0
    try:
        while at < len(data):
            if data[at] != 0x00 or data[at + 1] not in (0x53, 0x80):
                raise MalformedError("a section does not begin with a descriptor")
            begin, at = at, _end_of_value(data, at + 1)
            code = data[at - 1]
            if not HEADER <= code <= PROPERTIES:
                return
            value, at = at, _end_of_value(data, at)
            yield code, begin, value, at
    except IndexError as error:
        raise MalformedError("the message ends in the middle of a section") from error


def _items(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of each item of the list or map at `at`."""
    code = data[at]
    if code == _LIST0:
        return
    if code in (_LIST8, _MAP8):
        count, at = data[at + 2], at + 3
    elif code in (_LIST32, _MAP32):
        count, at = int.from_bytes(data[at + 5 : at + 9], "big"), at + 9
    else:
        raise MalformedError(f"neither list nor map: 0x{code:02x}")
    for _ in range(count):
        end = _end_of_value(data, at)
        yield at, end
        at = end


def _text(data: bytes, at: int, end: int) -> bytes | None:
    code = data[at]
    if code in (_STR8, _SYM8):
        return data[at + 2 : end]
    if code in (_STR32, _SYM32):
        return data[at + 5 : end]
    return None


def to_of(data: bytes) -> str | None:
    """Return the `to` of a message, which tells where a message of an anonymous sender goes."""
    try:
        for code, _, value, _ in sections(data):
            if code == PROPERTIES:
                for number, (at, end) in enumerate(_items(data, value)):
                    if number == _TO_FIELD:
                        text = _text(data, at, end)
                        return None if text is None else text.decode()
    except (IndexError, UnicodeDecodeError) as error:
        raise MalformedError("the properties cannot be read") from error
    return None


def _symbol(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">BB", _SYM8, len(raw)) + raw


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">BI", _STR32, len(raw)) + raw


@lru_cache(maxsize=1024)
def route_section(ingress: str, trace: tuple[str, ...]) -> bytes:
    """Return what a Skupper router puts in front: flags, to, the ingress router, the routers passed."""
    items = b"\x43\x40" + _string(f"0/{ingress}") + _trace(trace)
    return b"\x00\x80SKPR--RA" + struct.pack(">BII", _LIST32, len(items) + 4, 4) + items


def _trace(trace: tuple[str, ...]) -> bytes:
    steps = b"".join(_string(f"0/{router}") for router in trace)
    return struct.pack(">BII", _LIST32, len(steps) + 4, len(trace)) + steps


@lru_cache(maxsize=1024)
def route_pairs(ingress: str, trace: tuple[str, ...]) -> bytes:
    """Return the annotations that a Dispatch router adds: the ingress router, and the routers passed."""
    return _symbol("x-opt-qd.ingress") + _string(f"0/{ingress}") + _symbol("x-opt-qd.trace") + _trace(trace)


def annotated(data: bytes, pairs: bytes) -> bytes:
    """Return the message with `pairs` among its annotations, in place of those of earlier routers."""
    begin = end = 0
    kept: list[bytes] = []
    for code, start, value, stop in sections(data):
        if code in (HEADER, DELIVERY_ANNOTATIONS):
            begin = end = stop
        elif code == MESSAGE_ANNOTATIONS:
            begin, end = start, stop
            spans = list(_items(data, value))
            for key, item in zip(spans[::2], spans[1::2], strict=True):
                name = _text(data, *key)
                if name is None or not name.startswith(OWN_ANNOTATION):
                    kept.append(data[key[0] : item[1]])
    body = b"".join(kept) + pairs
    head = struct.pack(">BBBBII", 0x00, 0x53, MESSAGE_ANNOTATIONS, _MAP32, len(body) + 4, 2 * len(kept) + 4)
    return data[:begin] + head + body + data[end:]
