"""What a generator process tells its parent: records as they would go to Kafka, and how it stands."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

_HEAD: Final = struct.Struct(">IH")  # bytes that follow, of them the path's name
_MOST_BYTES: Final = 4_000_000


class RecordFrame(NamedTuple):
    """A record of an end, under its path."""

    path: str
    record: bytes


class StandFrame(NamedTuple):
    """How the process stands."""

    stand: dict[str, Any]


def write_record(out: BinaryIO, path: str, record: bytes) -> None:
    name = path.encode()
    out.write(_HEAD.pack(len(name) + len(record), len(name)) + name + record)


def write_stand(out: BinaryIO, stand: dict[str, Any]) -> None:
    data = json.dumps(stand).encode()
    out.write(_HEAD.pack(len(data), 0) + data)


class Frames:
    """Puts together what comes in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> Iterator[RecordFrame | StandFrame]:
        """Yields what is whole now; raises ValueError for what no generator writes."""
        data = self._rest + data
        at = 0
        while len(data) - at >= _HEAD.size:
            size, name_bytes = _HEAD.unpack_from(data, at)
            if size > _MOST_BYTES or name_bytes > size:
                raise ValueError(f"a frame of {size} bytes")
            begin, end = at + _HEAD.size, at + _HEAD.size + size
            if end > len(data):
                break
            at = end
            if name_bytes:
                name = data[begin : begin + name_bytes].decode()
                yield RecordFrame(name, data[begin + name_bytes : end])
            else:
                yield StandFrame(json.loads(data[begin:end]))
        self._rest = data[at:]
