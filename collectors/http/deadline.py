"""Socket operations that end at a time of time.monotonic(), however slowly the peer sends or reads."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import time
from typing import Any


def left(until: float) -> float:
    """Returns the seconds that are left; raises TimeoutError where none are."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("no time is left")
    return seconds


class Reader(io.RawIOBase):
    """Reads from a socket until `until`, also where the peer sends a byte now and then.

    After `most_bytes` it behaves as if the peer had closed the connection.
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
    """Send all of it; raises TimeoutError where the peer takes it too slowly."""
    rest = memoryview(data)
    while rest:
        connection.settimeout(left(until))
        rest = rest[connection.send(rest) :]


def hang_up(connection: socket.socket) -> None:
    """Close both directions at once, without sending the rest; wakes a thread that waits for the peer."""
    with contextlib.suppress(OSError):  # the peer may have closed it already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
