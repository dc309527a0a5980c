"""A bound on connections at a time, in which slow clients lose their places to new ones."""

from __future__ import annotations

import socket
import threading
from typing import Final

from collectors.http import deadline


class Places:
    """Where all are taken, the connection that has waited longest for its client is closed for the next."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock: Final = threading.Lock()
        self._held: Final[set[socket.socket]] = set()
        self._waiting: Final[dict[socket.socket, None]] = {}  # the longest first

    def take(self, connection: socket.socket, *, waiting: bool) -> bool:
        """Returns whether the connection has a place now; `waiting`: we wait for its client."""
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
        """Note whether we wait for the client from now on."""
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
