"""A batch's records as one blob: what came since a shard's snapshot, to be taken in again after a restart."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from streaming.shard.outputs import Input
from streaming.shard.packing import StateError

_ENTRY: Final = struct.Struct("<qII")  # append time, lengths of key and value


def encode(records: Iterable[Input]) -> bytes:
    """Where they stand in Kafka is not told: it matters to dead letters only, and these are out."""
    parts: list[bytes] = []
    for one in records:
        parts += (_ENTRY.pack(one.append_ns, len(one.key), len(one.value)), one.key, one.value)
    return b"".join(parts)


def decode(data: bytes) -> Iterator[Input]:
    """StateError where these bytes are no log."""
    at = 0
    while at < len(data):
        try:
            append_ns, key_length, value_length = _ENTRY.unpack_from(data, at)
        except struct.error as error:
            raise StateError(f"the log of records is damaged: {error}; give a new checkpoint") from None
        value_at = at + _ENTRY.size + key_length
        at = value_at + value_length
        if at > len(data):
            raise StateError("the log of records is cut off; give a new checkpoint")
        yield Input(0, 0, append_ns, data[value_at - key_length : value_at], data[value_at:at])
