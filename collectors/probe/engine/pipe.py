"""The bytes between a socket and proton's engine, in both directions."""

from __future__ import annotations

import socket
from typing import Any, Final
from weakref import WeakKeyDictionary

from cproton_ffi import ffi, lib

from collectors.probe.engine.loop import Handler, Loop

_BUFFER_BYTES: Final = 1 << 18
_buffers: Final[WeakKeyDictionary[Loop, bytearray]] = WeakKeyDictionary()


class Pipe:
    """One socket after another; the loop tells `handler` when there is something to read or room to write."""

    def __init__(self, loop: Loop, handler: Handler) -> None:
        self._loop, self._handler = loop, handler
        self._socket: socket.socket | None = None
        self._transport: Any = None  # the engine's own object
        self._wants_write = True
        # Nothing stays in it: all that have the same loop take turns.
        buffer = _buffers.setdefault(loop, bytearray(_BUFFER_BYTES))
        self._buffer_c, self._view = ffi.from_buffer(buffer), memoryview(buffer)
        self.written_bytes = 0  # to all sockets together
        self.is_empty = True  # the last read found no more in the socket than it took

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def open(self, sock: socket.socket, transport: Any) -> None:
        self._socket, self._transport = sock, transport
        self._wants_write = self.is_empty = True
        self._loop.watch(sock.fileno(), self._handler, writable=True)

    def close(self) -> None:
        if self._socket is not None:
            self._loop.forget(self._socket.fileno())
            self._socket.close()
        self._socket = self._transport = None

    def pending_bytes(self) -> int:
        """What the engine has for the peer."""
        return max(0, lib.pn_transport_pending(self._transport)) if self._transport is not None else 0

    def read(self) -> int | None:
        """Give the engine what has come: so many bytes, 0 at the end, None for nothing now. OSError."""
        capacity = lib.pn_transport_capacity(self._transport)
        if self._socket is None or capacity <= 0:
            return None
        most = min(capacity, _BUFFER_BYTES)
        try:
            count = self._socket.recv_into(self._view, most)
        except BlockingIOError:
            self.is_empty = True
            return None
        self.is_empty = count < most
        if count:
            lib.pn_transport_push(self._transport, self._buffer_c, count)
        else:
            lib.pn_transport_close_tail(self._transport)
        return count

    def write(self) -> bool:
        """Write what the engine has; whether all of it went out. OSError."""
        while self._socket is not None:
            pending = lib.pn_transport_pending(self._transport)
            if pending <= 0:
                break
            count = lib.pn_transport_peek(self._transport, self._buffer_c, min(pending, _BUFFER_BYTES))
            try:
                written = self._socket.send(self._view[:count])
            except BlockingIOError:
                self._watch(writable=True)
                return False
            lib.pn_transport_pop(self._transport, written)
            self.written_bytes += written
            if written < count:
                self._watch(writable=True)
                return False
        self._watch(writable=False)
        return True

    def _watch(self, *, writable: bool) -> None:
        if self._socket is not None and writable != self._wants_write:
            self._wants_write = writable
            self._loop.watch(self._socket.fileno(), self._handler, writable=writable)
