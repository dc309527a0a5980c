"""How long a peer may keep us waiting: until a moment of time.monotonic(), however little comes at a time."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import time
from typing import Any


def left(until: float) -> float:
    """Seconds that are left; TimeoutError where none are."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("no time is left")
    return seconds


class Reader(io.RawIOBase):
    """Reads from a socket until a moment: a peer that sends a byte now and then does not stay for ever.

    After `most_bytes` it reads as if the peer had ended.
    """

    def __init__(self, connection: socket.socket, until: float, most_bytes: float = float("inf")) -> None:
        super().__init__()
        self._connection = connection
        self._raw = connection.makefile("rb", buffering=0)  # which keeps the socket open as long as itself
        self._until = until
        self.room = most_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.room <= 0:
            return 0
        self._connection.settimeout(left(self._until))
        size = self._raw.readinto(memoryview(buffer)[: int(min(len(buffer), self.room))])
        self.room -= size or 0
        return size

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def send(connection: socket.socket, data: bytes | memoryview, until: float) -> None:
    """All of it; TimeoutError where the peer takes it too slowly."""
    rest = memoryview(data)
    while rest:
        connection.settimeout(left(until))
        rest = rest[connection.send(rest) :]


def hang_up(connection: socket.socket) -> None:
    """Now, without waiting for the peer to take what was sent; wakes a thread that waits for the peer."""
    with contextlib.suppress(OSError):  # it may be gone by itself
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
