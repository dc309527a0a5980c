"""Room for so many connections at a time, in which no client can stay by being slow."""

from __future__ import annotations

import socket
import threading
from typing import Final

from collectors.http import deadline


class Places:
    """Where all are taken, that which has waited longest for its client gives its place to the next."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock: Final = threading.Lock()
        self._held: Final[set[socket.socket]] = set()
        self._waiting: Final[dict[socket.socket, None]] = {}  # the longest first

    def take(self, connection: socket.socket, *, waiting: bool) -> bool:
        """Whether there is one, or one could be made; `waiting`: it is the client's turn now."""
        with self._lock:
            if len(self._held) >= self._most and connection not in self._held:
                slowest = next(iter(self._waiting), None)
                if slowest is None:
                    return False
                self._forget(slowest)
                deadline.hang_up(slowest)
            self._held.add(connection)
            self._turn(connection, waiting=waiting)
            return True

    def turn(self, connection: socket.socket, *, waiting: bool) -> None:
        """It is the client's turn, from now on, or ours."""
        with self._lock:
            if connection in self._held:
                self._turn(connection, waiting=waiting)

    def leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._forget(connection)

    def _turn(self, connection: socket.socket, *, waiting: bool) -> None:
        self._waiting.pop(connection, None)
        if waiting:
            self._waiting[connection] = None

    def _forget(self, connection: socket.socket) -> None:
        self._held.discard(connection)
        self._waiting.pop(connection, None)
