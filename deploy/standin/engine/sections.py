"""What a router reads and writes in encoded messages: the field `to`, and the annotations of its own."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from collectors.amqp import sections
from collectors.amqp.sections import DELIVERY_ANNOTATIONS, HEADER, MESSAGE_ANNOTATIONS, PROPERTIES
from collectors.amqp.values import BadEncoding

if TYPE_CHECKING:
    from collections.abc import Iterator

_STR8, _STR32, _SYM8, _SYM32 = 0xA1, 0xB1, 0xA3, 0xB3
_LIST0, _LIST8, _LIST32, _MAP8, _MAP32 = 0x45, 0xC0, 0xD0, 0xC1, 0xD1
_TO_FIELD = 2  # message-id, user-id, to
OWN_ANNOTATION = b"x-opt-qd."


class MalformedError(ValueError):
    """The bytes are not an AMQP message."""


def _before_body(data: bytes) -> Iterator[sections.Section]:
    """Yield (descriptor, begin, begin of the value, end) of each section up to the body."""
    try:
        for section in sections.walk(data):
            if not HEADER <= section[0] <= PROPERTIES:
                return
            if section[3] > len(data):
                raise MalformedError("a section runs over the end of the message")
            yield section
    except BadEncoding as error:
        raise MalformedError(str(error)) from None


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
        try:
            end = sections.end_of_value(data, at)
        except (BadEncoding, IndexError) as error:
            raise MalformedError("a list or map is cut") from error
        if end > len(data):
            raise MalformedError("a value runs over the end of the message")
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
        for code, _, value, _ in _before_body(data):
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
    for code, start, value, stop in _before_body(data):
        if code in (HEADER, DELIVERY_ANNOTATIONS):
            begin = end = stop
        elif code == MESSAGE_ANNOTATIONS:
            begin, end = start, stop
            spans = list(_items(data, value))
            if len(spans) % 2:
                raise MalformedError("a map with a key that has no value")
            for key, item in zip(spans[::2], spans[1::2], strict=True):
                name = _text(data, *key)
                if name is None or not name.startswith(OWN_ANNOTATION):
                    kept.append(data[key[0] : item[1]])
    body = b"".join(kept) + pairs
    head = struct.pack(">BBBBII", 0x00, 0x53, MESSAGE_ANNOTATIONS, _MAP32, len(body) + 4, 2 * len(kept) + 4)
    return data[:begin] + head + body + data[end:]
