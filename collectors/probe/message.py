"""The body of a probe's message, the same over every protocol.

Big-endian: magic, version, flags, two bytes reserved, flow hash, run, sequence, intended, sent, boot, epoch;
then zeros up to the size. `boot` names the sender's boot and `epoch` is its wall clock less its monotonic
one: a receiver of the same boot knows the offset of the two clocks from them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from collectors.config.model import MIN_SIZE_BYTES

MAGIC: Final = b"Infl"
VERSION: Final = 1
FLAG_WARMUP: Final = 1
BODY: Final = struct.Struct(">4sBBHQQQqqQq")
PREFIX: Final = struct.Struct(">4sBBHQ")  # the same in all messages of a flow
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
    """Returns the first 16 bytes of every body of a flow."""
    return PREFIX.pack(MAGIC, VERSION, FLAG_WARMUP if warmup else 0, 0, flow)


def encode_body(body: Body, size: int = MIN_SIZE_BYTES) -> bytes:
    """Returns the body, padded to `size`."""
    flags = FLAG_WARMUP if body.warmup else 0
    fields = (body.flow, body.run, body.sequence, body.intended_ns, body.sent_ns, body.boot, body.epoch_ns)
    return BODY.pack(MAGIC, VERSION, flags, 0, *fields).ljust(size, b"\0")


def decode_body(data: bytes | memoryview, offset: int = 0) -> Body | None:
    """Returns the body that begins at `offset`; None for bytes of others, or of another version."""
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
    """What a message says beside its body; the same in all messages of a run."""

    ttl_ns: int
    durable: bool
    priority: int
    reply_to: str | None = None
    to: str | None = None


class Template:
    """A message encoded once; for each one sent, three numbers are written over those of the last."""

    def __init__(self, message: bytearray, body_bytes: int) -> None:
        """The body is the end of the message."""
        self.message: Final = message
        self.body_bytes: Final = body_bytes
        self._at = len(message) - body_bytes + NUMBERS_AT

    def patch(self, sequence: int, intended_ns: int, sent_ns: int) -> None:
        NUMBERS.pack_into(self.message, self._at, sequence, intended_ns, sent_ns)


def sizes(low: int, high: int) -> tuple[int, ...]:
    """Returns the sizes that a range is sent in; at most 16, as each has a template."""
    steps = min(16, high - low + 1)
    return (low,) if steps == 1 else tuple(low + (high - low) * n // (steps - 1) for n in range(steps))
