"""The records of a batch as bytes: after a restart, those since a shard's snapshot are taken in again."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from streaming.accounting import BadState
from streaming.shard.outputs import Input

_ENTRY: Final = struct.Struct("<qII")  # append time, lengths of key and value


def encode(records: Iterable[Input]) -> bytes:
    """Returns the records without their places in Kafka: only dead letters tell these, and they are out."""
    parts: list[bytes] = []
    for one in records:
        parts += (_ENTRY.pack(one.append_ns, len(one.key), len(one.value)), one.key, one.value)
    return b"".join(parts)


def decode(data: bytes) -> Iterator[Input]:
    """Yields the records. Raises BadState where these bytes are no log."""
    at = 0
    while at < len(data):
        try:
            append_ns, key_length, value_length = _ENTRY.unpack_from(data, at)
        except struct.error as error:
            raise BadState(f"the log of records is damaged: {error}; give a new checkpoint") from None
        value_at = at + _ENTRY.size + key_length
        at = value_at + value_length
        if at > len(data):
            raise BadState("the log of records is cut off; give a new checkpoint")
        yield Input(0, 0, append_ns, data[value_at - key_length : value_at], data[value_at:at])
