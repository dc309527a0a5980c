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
    """The loop tells `handler` when there is something to read, or room to write."""

    def __init__(self, loop: Loop, handler: Handler, transport: Any) -> None:
        """`transport` is cproton's pointer."""
        self._loop, self._handler, self._transport = loop, handler, transport
        self._socket: socket.socket | None = None
        self._wants_write = True
        # Nothing stays in it, so all that have the same loop take turns.
        buffer = _buffers.setdefault(loop, bytearray(_BUFFER_BYTES))
        self._buffer_c, self._view = ffi.from_buffer(buffer), memoryview(buffer)
        self.is_empty = True  # the last read found no more in the socket than it took

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def open(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop.watch(sock.fileno(), self._handler, writable=True)

    def close(self) -> None:
        if self._socket is not None:
            self._loop.forget(self._socket.fileno())
            self._socket.close()
        self._socket = None

    def read(self) -> int | None:
        """Gives the engine what has come.

        Returns how many bytes; 0 at the end of the stream, None where nothing has come. Raises OSError.
        """
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
        """Writes what the engine has. Returns whether the socket took all of it. Raises OSError."""
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
            if written < count:
                self._watch(writable=True)
                return False
        self._watch(writable=False)
        return True

    def _watch(self, *, writable: bool) -> None:
        if self._socket is not None and writable != self._wants_write:
            self._wants_write = writable
            self._loop.watch(self._socket.fileno(), self._handler, writable=writable)
