"""One thread, one selector: sockets, timers, and proton's transports between them."""

from __future__ import annotations

import heapq
import itertools
import logging
import selectors
import socket
import time
from typing import TYPE_CHECKING, Any

import proton
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("inflight.standin")
_CHUNK_BYTES = 65_536
_LONGEST_SLEEP_SECONDS = 0.25


def key_of(pointer: Any) -> int:
    """The address behind a pointer of proton's, as a key for a dict."""
    return int(ffi.cast("uintptr_t", pointer))


class Timer:
    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class AmqpSocket:
    """One AMQP connection on one socket; knows nothing of routing."""

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
            data = self.sock.recv(min(capacity, _CHUNK_BYTES))
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
            size = min(pending, _CHUNK_BYTES)
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
        """The socket is of no more use; proton tells the rest by its own events."""
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


class Loop:
    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.collector = proton.Collector()
        self.sockets: dict[int, AmqpSocket] = {}
        self.sockets_by_connection: dict[int, AmqpSocket] = {}
        self.to_flush: dict[int, AmqpSocket] = {}
        self.handlers: dict[int, Callable[[Any], None]] = {}
        self.after_turn: Callable[[], None] = lambda: None
        self.stopping = False
        self.buffer = ffi.new("char[]", _CHUNK_BYTES)
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._listeners: list[socket.socket] = []

    def listen(self, host: str, port: int, accepted: Callable[[socket.socket], None]) -> int:
        """Listen, and tell the port (the one the system chose, for 0)."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = socket.create_server((host, port), family=family, backlog=128)
        server.setblocking(False)

        def ready(_: int) -> None:
            try:
                sock, _peer = server.accept()
            except OSError:
                return
            _prepare(sock)
            accepted(sock)

        self.selector.register(server, selectors.EVENT_READ, ready)
        self._listeners.append(server)
        return int(server.getsockname()[1])

    def connect(self, host: str, port: int) -> socket.socket:
        """A socket on its way to host:port; raises OSError where the name or the route is wrong."""
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
        _prepare(sock)
        try:
            sock.connect(address)
        except BlockingIOError:
            pass
        except OSError:
            sock.close()
            raise
        return sock

    def call_later(self, seconds: float, action: Callable[[], None]) -> Timer:
        timer = Timer(action)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def run(self) -> None:
        while not self.stopping:
            self.turn()

    def turn(self) -> None:
        for key, events in self.selector.select(self._sleep_seconds()):
            key.data(events)
        self._run_timers()
        self._handle_events()
        self.after_turn()
        self._handle_events()
        to_flush, self.to_flush = self.to_flush, {}
        for amqp_socket in to_flush.values():
            amqp_socket.flush()

    def close(self) -> None:
        for amqp_socket in list(self.sockets.values()):
            amqp_socket.connection.close()
            self.to_flush[amqp_socket.key] = amqp_socket
        self._handle_events()
        for amqp_socket in list(self.to_flush.values()):
            amqp_socket.flush()
        for server in self._listeners:
            server.close()

    def _sleep_seconds(self) -> float:
        if self.to_flush:
            return 0.0
        if not self._timers:
            return _LONGEST_SLEEP_SECONDS
        return min(_LONGEST_SLEEP_SECONDS, max(0.0, self._timers[0][0] - time.monotonic()))

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.action:
                timer.action()

    def _handle_events(self) -> None:
        collector = self.collector._impl  # noqa: SLF001 -- the wrapper costs more than the message
        peek, kind, pop, handlers = (
            lib.pn_collector_peek,
            lib.pn_event_type,
            lib.pn_collector_pop,
            self.handlers,
        )
        while event := peek(collector):
            number = kind(event)
            if number == lib.PN_TRANSPORT:
                amqp_socket = self.sockets.get(key_of(lib.pn_event_transport(event)))
                if amqp_socket:
                    self.to_flush[amqp_socket.key] = amqp_socket
            elif number in handlers:
                try:
                    handlers[number](event)
                except Exception:  # noqa: BLE001 -- whatever it is, the others go on
                    # One client's event must not end the router for all others.
                    _log.exception("event %s failed and was left out", number)
            pop(collector)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
