"""Connects a socket to one of several peers: in turn, with back-off and jitter."""

from __future__ import annotations

import errno
import os
import random
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from collectors.amqp.options import AmqpOptions
from collectors.probe.engine.loop import Loop, Timer

_FIRST_DELAY_SECONDS: Final = 0.1
_LONGEST_DELAY_SECONDS: Final = 10.0
_CONNECT_SECONDS: Final = 10.0

Connected = Callable[[AmqpOptions, socket.socket], None]


class Connector:
    """Makes one attempt at a time, and tells what came of it by one of two calls, in the loop's thread."""

    def __init__(
        self,
        loop: Loop,
        peers: Callable[[], Sequence[AmqpOptions]],
        connected: Connected,
        failed: Callable[[str], None],
    ) -> None:
        """`peers` is asked at each attempt: files of secrets may have changed."""
        self._loop, self._peers, self._connected, self._failed = loop, peers, connected, failed
        self._next_peer = 0
        self._failures = 0
        self._timer: Timer | None = None
        self._socket: socket.socket | None = None
        self._peer: AmqpOptions | None = None
        self._cancelled = False

    def connect(self) -> None:
        """Tries the next peer now."""
        self._timer = None
        if self._cancelled:
            return
        try:
            peers = self._peers()
        except Exception as error:  # noqa: BLE001 -- files may be wrong in many ways, and be put right meanwhile
            self._failed(str(error))
            return
        peer = peers[self._next_peer % len(peers)]
        # In a thread: a slow answer must not hold up the other paths.
        look_up = threading.Thread(target=self._look_up, args=(peer,), name="look-up", daemon=True)
        try:
            look_up.start()
        except RuntimeError as error:
            self._failed(f"{peer.host} cannot be looked up: {error}")

    def connect_later(self) -> None:
        """Tries the peer after it, after a delay that grows with each failure."""
        self._next_peer += 1
        longest = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2 ** min(self._failures, 16))
        self._failures += 1
        delay = random.uniform(longest / 2, longest)  # noqa: S311 -- to spread attempts
        self._timer = self._loop.call_in(delay, self.connect)

    def forget_failures(self) -> None:
        """The last connection lasted: the next attempt need not wait long."""
        self._failures = 0

    def cancel(self) -> None:
        self._cancelled = True
        self._close()

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        sock, self._socket = self._socket, None
        if sock is not None:
            self._loop.forget(sock.fileno())
            sock.close()

    def _look_up(self, peer: AmqpOptions) -> None:
        try:
            found = socket.getaddrinfo(peer.host, peer.port, type=socket.SOCK_STREAM)
        except Exception as error:  # noqa: BLE001 -- without an answer there would be no further attempt
            text = f"{peer.host} cannot be looked up: {getattr(error, 'strerror', None) or error}"
            self._loop.post(lambda: None if self._cancelled else self._failed(text))
            return
        self._loop.post(lambda: self._open(peer, found))

    def _open(self, peer: AmqpOptions, addresses: list[Any]) -> None:
        if self._cancelled:
            return
        family, kind, protocol, _, address = addresses[self._failures // 2 % len(addresses)]
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            self._failed(f"{peer.url}: {error.strerror}")  # too many open files, for example
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        result = sock.connect_ex(address)
        if result not in {0, errno.EINPROGRESS}:
            sock.close()
            self._failed(f"{peer.url}: {os.strerror(result)}")
            return
        self._socket, self._peer = sock, peer
        self._loop.watch(sock.fileno(), self, writable=True)
        self._timer = self._loop.call_in(_CONNECT_SECONDS, self._timed_out)

    def _timed_out(self) -> None:
        self._close()
        if self._peer is not None:
            self._failed(f"{self._peer.url}: no answer within {_CONNECT_SECONDS:g} s")

    def ready(self, *, readable: bool, writable: bool) -> None:
        """The socket is connected, or has failed."""
        sock, peer = self._socket, self._peer
        if sock is None or peer is None or not (readable or writable):
            return
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._close()
            self._failed(f"{peer.url}: {os.strerror(code)}")
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._socket = None
        self._loop.forget(sock.fileno())
        self._connected(peer, sock)
