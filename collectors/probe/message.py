"""The body of a probe's message, and where it stands in an encoded AMQP message.

Big-endian: magic, version, flags, two bytes reserved, flow hash, run, sequence, intended, sent, boot, epoch;
then zeros up to the size. `boot` names the sender's boot and `epoch` is its wall clock less its monotonic
one: a receiver of the same boot knows the offset of the two clocks from them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from proton import Message

from collectors.amqp import values
from collectors.config.model import MIN_SIZE_BYTES
from collectors.contract.untrusted_text import shown

MAGIC: Final = b"Infl"
VERSION: Final = 1
FLAG_WARMUP: Final = 1
BODY: Final = struct.Struct(">4sBBHQQQqqQq")
PREFIX: Final = struct.Struct(">4sBBHQ")  # what all messages of a flow begin with
NUMBERS: Final = struct.Struct(">Qqq")  # sequence, intended, sent: all that differs between a run's messages
NUMBERS_AT: Final = 24
RUN_AT: Final = 16
COUNTED_BYTES: Final = 32  # run, sequence, intended, sent, as they stand in the body
_MAX_INT: Final = 1 << 62

assert BODY.size == MIN_SIZE_BYTES  # noqa: S101 -- the two are one contract


class Body(NamedTuple):
    """The fields that a receiver uses."""

    warmup: bool
    flow: int
    run: int
    sequence: int
    intended_ns: int
    sent_ns: int
    boot: int
    epoch_ns: int


def flow_prefix(flow: int, *, warmup: bool) -> bytes:
    """The first 16 bytes of every body of a flow."""
    return PREFIX.pack(MAGIC, VERSION, FLAG_WARMUP if warmup else 0, 0, flow)


def encode_body(body: Body, size: int = MIN_SIZE_BYTES) -> bytes:
    """The body, padded to `size`."""
    flags = FLAG_WARMUP if body.warmup else 0
    fields = (body.flow, body.run, body.sequence, body.intended_ns, body.sent_ns, body.boot, body.epoch_ns)
    return BODY.pack(MAGIC, VERSION, flags, 0, *fields).ljust(size, b"\0")


def decode_body(data: bytes | memoryview, offset: int = 0) -> Body | None:
    """The body that begins at `offset`; None where it is not ours, or not of this version."""
    if len(data) - offset < BODY.size:
        return None
    magic, version, flags, _, *fields = BODY.unpack_from(data, offset)
    if magic != MAGIC or version != VERSION:
        return None
    body = Body(bool(flags & FLAG_WARMUP), *fields)
    if not (body.sequence < _MAX_INT and 0 <= body.intended_ns < _MAX_INT and 0 <= body.sent_ns < _MAX_INT):
        return None
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """What the AMQP sections before the body say; the same in all messages of a run."""

    ttl_ns: int
    durable: bool
    priority: int
    reply_to: str | None = None
    to: str | None = None


class Template:
    """A message encoded once; per message, three numbers are written over the ones before."""

    def __init__(self, body: Body, size: int, properties: Properties) -> None:
        message = Message(
            body=encode_body(body, size),
            inferred=True,  # a plain data section
            durable=properties.durable,
            ttl=properties.ttl_ns / 1e9,
            priority=properties.priority,
            reply_to=properties.reply_to,
            address=properties.to,
        )
        self.buffer: Final = bytearray(message.encode())
        self.body_bytes: Final = size
        self._at = len(self.buffer) - size + NUMBERS_AT

    def patch(self, sequence: int, intended_ns: int, sent_ns: int) -> None:
        NUMBERS.pack_into(self.buffer, self._at, sequence, intended_ns, sent_ns)


def sizes(low: int, high: int) -> tuple[int, ...]:
    """The sizes that a range is sent in: a template each, so there are not many."""
    steps = min(16, high - low + 1)
    return (low,) if steps == 1 else tuple(low + (high - low) * n // (steps - 1) for n in range(steps))


_FIXED: Final = {0x40: 0, 0x41: 0, 0x42: 0, 0x43: 0, 0x44: 0, 0x45: 0}
_HEADER, _DATA = 0x70, 0x75
_BIN8, _BIN32 = 0xA0, 0xB0
_SMALL_ULONG, _ULONG = 0x53, 0x80


class Found(NamedTuple):
    """Where the body stands, and whether the header says that the message was delivered before."""

    offset: int
    size: int
    redelivered: bool


def find_body(data: bytes | memoryview) -> Found | None:
    """The data section of an encoded message; None where there is none, or not exactly one."""
    at, redelivered, found = 0, False, None
    try:
        while at < len(data):
            section, value_at = _descriptor(data, at)
            start, end = _value(data, value_at)
            if end > len(data):
                return None
            if section == _HEADER:
                redelivered = _delivered_before(bytes(data[:end]))
            elif section == _DATA:
                if found is not None or data[value_at] not in {_BIN8, _BIN32}:
                    return None
                found = start, end - start
            at = end
    except (IndexError, struct.error):
        return None
    return None if found is None else Found(*found, redelivered)


def _descriptor(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A section's code, and where its value begins."""
    if data[at] == 0 and data[at + 1] == _SMALL_ULONG:
        return data[at + 2], at + 3
    if data[at] == 0 and data[at + 1] == _ULONG:
        return int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
    raise IndexError(at)


def _value(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Where the contents of a section's value begin and end."""
    code = data[at]
    if code in _FIXED:
        return at + 1, at + 1
    if code >> 4 in {0xA, 0xC}:
        return at + 2, at + 2 + data[at + 1]
    if code >> 4 in {0xB, 0xD}:
        return at + 5, at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
    raise IndexError(code)


def _delivered_before(header: bytes) -> bool:
    message = _decoded(header)
    return message is not None and bool(message.delivery_count)


# Where routers write a message's route: Dispatch among its annotations, Skupper in front of it (docs/notes/
# router-annotations.adoc there) in a section of its own: flags, to, ingress, trace. By section and place.
_ROUTES: Final[tuple[tuple[int, str | int], ...]] = ((0x72, "x-opt-qd.trace"), (0x534B5052_2D2D5241, 3))


def trace_of(data: bytes) -> str | None:
    """The routers that a message came through, where they wrote themselves into it: `A>B`."""
    try:
        found = values.sections(data)
        for section, place in _ROUTES:
            if section in found:
                told = values.read(data, found[section])[0]
                trace = told[place]
                if isinstance(trace, list) and trace:
                    names = [str(router).partition("/")[2] or str(router) for router in trace]
                    return shown(">".join(names)[:512])
    except (values.BadEncoding, LookupError, TypeError):
        pass  # it tells none
    return None


def reply_address(data: bytes) -> str | None:
    """The address that a message asks answers to be sent to."""
    message = _decoded(data)
    reply_to = message.reply_to if message is not None else None
    return reply_to if isinstance(reply_to, str) and reply_to else None


def _decoded(data: bytes) -> Any:
    message = Message()
    try:
        message.decode(data)
    except Exception:  # noqa: BLE001 -- proton raises many kinds for bytes that are no message
        return None
    return message
