"""What a process of a load and its run say to each other, over a Unix socket of their user's.

The run writes lines of JSON. The process writes frames: a letter, two lengths, a name and what it holds.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

RECORD: Final = b"R"  # of a probe, by the name of its path
STATUS: Final = b"S"  # JSON, without a name
_HEAD: Final = struct.Struct(">cHI")
MOST_BYTES: Final = 64 << 20
LINE_BYTES: Final = 16 << 20


class Writer:
    """Frames of several threads, each in one piece."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._lock = sock, threading.Lock()

    def record(self, record: bytes, path: str) -> None:
        self._write(RECORD, path.encode(), record)

    def status(self, told: Mapping[str, Any]) -> None:
        self._write(STATUS, b"", json.dumps(told).encode())

    def _write(self, kind: bytes, name: bytes, data: bytes) -> None:
        with self._lock:
            self._sock.sendall(_HEAD.pack(kind, len(name), len(data)) + name + data)


def read(file: IO[bytes]) -> Iterator[tuple[bytes, str, bytes]]:
    """Yield kind, name and content of each frame, until the other side ends; raises ValueError for others."""
    while head := file.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise ValueError("a frame was cut short")
        kind, name_length, length = _HEAD.unpack(head)
        if kind not in {RECORD, STATUS} or length > MOST_BYTES:
            raise ValueError("these are no frames")
        name, data = file.read(name_length), file.read(length)
        if len(name) < name_length or len(data) < length:
            raise ValueError("a frame was cut short")
        yield kind, name.decode(), data
