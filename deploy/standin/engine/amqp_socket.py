"""One socket and the AMQP connection that proton keeps for it."""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING, Any

import proton
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from deploy.standin.engine.loop import Loop

CHUNK_BYTES = 65_536


def key_of(pointer: Any) -> int:
    """Return the address in a pointer of proton's, as a key for a dict."""
    return int(ffi.cast("uintptr_t", pointer))


class AmqpSocket:
    """Moves bytes between a socket and proton's transport."""

    def __init__(self, loop: Loop, sock: socket.socket, *, server: bool, domain: Any = None) -> None:
        self.loop = loop
        self.sock = sock
        self.connecting = not server
        self.closed = False
        self._events = 0
        self.connection = proton.Connection()
        self.connection.collect(loop.collector)
        self.transport = proton.Transport(proton.Transport.SERVER if server else proton.Transport.CLIENT)
        self.ssl = proton.SSL(self.transport, domain) if domain else None
        self.pn_transport = self.transport._impl  # noqa: SLF001 -- the wrapper costs more than the message
        self.key = key_of(self.pn_transport)

    def bind(self) -> None:
        self.transport.bind(self.connection)
        self.loop.sockets[self.key] = self
        self.loop.sockets_by_connection[key_of(self.connection._impl)] = self  # noqa: SLF001 -- as above
        self.watch(selectors.EVENT_WRITE if self.connecting else selectors.EVENT_READ)

    def watch(self, events: int) -> None:
        if events == self._events or self.closed:
            return
        if self._events:
            self.loop.selector.modify(self.sock, events, self.on_ready)
        else:
            self.loop.selector.register(self.sock, events, self.on_ready)
        self._events = events

    def on_ready(self, events: int) -> None:
        if self.connecting:
            error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self.close()
                return
            self.connecting = False
            self.watch(selectors.EVENT_READ)
        if events & selectors.EVENT_READ:
            self._read()
        self.loop.to_flush[self.key] = self

    def _read(self) -> None:
        capacity = lib.pn_transport_capacity(self.pn_transport)
        if capacity <= 0:
            if capacity < 0:
                self.close()
            return
        try:
            data = self.sock.recv(min(capacity, CHUNK_BYTES))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        lib.pn_transport_push(self.pn_transport, data, len(data))

    def flush(self) -> None:
        if self.closed or self.connecting:
            return
        pending = lib.pn_transport_pending(self.pn_transport)
        while pending > 0:
            size = min(pending, CHUNK_BYTES)
            lib.pn_transport_peek(self.pn_transport, self.loop.buffer, size)
            try:
                sent = self.sock.send(ffi.buffer(self.loop.buffer, size))
            except (BlockingIOError, InterruptedError):
                self.watch(selectors.EVENT_READ | selectors.EVENT_WRITE)
                return
            except OSError:
                self.close()
                return
            lib.pn_transport_pop(self.pn_transport, sent)
            pending = lib.pn_transport_pending(self.pn_transport)
        if pending < 0:
            self.close()
        else:
            self.watch(selectors.EVENT_READ)

    def close(self) -> None:
        """Close the socket; proton's events then tell the end of the connection."""
        if self.closed:
            return
        if self._events:
            self.loop.selector.unregister(self.sock)
        self.closed = True
        self.sock.close()
        lib.pn_transport_close_tail(self.pn_transport)
        lib.pn_transport_close_head(self.pn_transport)

    def remove(self) -> None:
        self.close()
        self.loop.sockets.pop(self.key, None)
        self.loop.sockets_by_connection.pop(key_of(self.connection._impl), None)  # noqa: SLF001 -- as above
        self.loop.to_flush.pop(self.key, None)
        self.transport.unbind()
