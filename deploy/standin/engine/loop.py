"""The event loop: one thread, one selector for all sockets, timers, and proton's events."""

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

from deploy.standin.engine.amqp_socket import CHUNK_BYTES, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.standin.engine.amqp_socket import AmqpSocket

_log = logging.getLogger("inflight.standin")
_LONGEST_SLEEP_SECONDS = 0.25


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
        self.buffer = ffi.new("char[]", CHUNK_BYTES)
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._listeners: list[socket.socket] = []

    def listen(self, host: str, port: int, accepted: Callable[[socket.socket], None]) -> int:
        """Listen, and return the port, which the system has chosen if 0 was given."""
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
        """Return a socket that is connecting to host:port; raises OSError without a host or route."""
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

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), action))

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
            heapq.heappop(self._timers)[2]()

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
                    # One client's event must not end the router for the others.
                    _log.exception("event %s failed and was left out", number)
            pop(collector)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
