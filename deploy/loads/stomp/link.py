"""A connection of stomp.py that comes back, with its own thread."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from collectors.config.paths import Path
from collectors.config.secrets import SecretError, read_password
from collectors.probe.engine.loop import Loop
from collectors.process.worker import Worker
from deploy.loads.model import StompEndpoint

os.environ.setdefault("STOMP_SKIP_HOSTNAME_SCAN", "1")  # it asks DNS for seconds when it is imported
import stomp
from stomp.exception import StompException

if TYPE_CHECKING:
    from stomp.utils import Frame

    from deploy.loads.stomp.connection import StompConnection

logging.getLogger("stomp.py").setLevel(logging.CRITICAL)  # it logs each loss with a traceback; links tell it
_HEARTBEAT_MS: Final = 10_000  # brokers end connections that say nothing for a while
_CONNECT_SECONDS: Final = 10.0
_WRITE_SECONDS: Final = 20  # a peer that takes nothing for so long is given up
_DELAYS_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_SNDTIMEO: Final = struct.Struct("ll")


class StompLink(ABC):
    """A connection of stomp.py that comes back: its thread connects, and does what is put into `todo`."""

    def __init__(
        self, connection: StompConnection, loop: Loop, endpoint: StompEndpoint, path: Path, name: str
    ) -> None:
        self.connection = connection
        self.attached = False
        self.problem = "not connected yet"
        self.peer = ""
        self._loop, self._endpoint, self._path, self._name = loop, endpoint, path, name
        self._worker = Worker(f"stomp {name}", self._run)
        self._ending = threading.Event()
        self._lost = threading.Event()
        self._stomp: Any = None
        self.todo: queue.SimpleQueue[Callable[[Any], None] | None] = queue.SimpleQueue()

    # -- in the loop's thread

    def start(self) -> None:
        self._worker.start()

    def end(self) -> None:
        """Ends it; its thread may need a moment more."""
        self._ending.set()
        self.todo.put(None)
        self.attached = False
        if self._stomp is not None:
            self._shut(self._stomp)

    def close(self) -> None:
        self.end()

    @property
    def ended(self) -> bool:
        return self._worker.ended.is_set()

    def link_is_up(self, todo: queue.SimpleQueue[Any], peer: str) -> None:
        if not self._ending.is_set():
            self.todo, self.peer, self.problem, self.attached = todo, peer, "", True
            self.was_attached()

    def link_is_down(self, reason: str) -> None:
        if self._ending.is_set():
            return
        self.problem = reason
        self.was_lost(reason)
        self.attached = False  # last: who sees that it is gone can see why

    @abstractmethod
    def was_attached(self) -> None:
        """There is a connection now."""

    @abstractmethod
    def was_lost(self, reason: str) -> None:
        """There is none any more."""

    # -- in threads of its own

    @abstractmethod
    def subscribe(self, to: Any) -> None:
        """Connected: says what it wants of its peer."""

    def on_error(self, frame: Frame) -> None:
        """The broker says why it will end the connection."""
        text = str(frame.headers.get("message") or frame.body or "an error without a word")
        self._complaint = text.strip()[:300]
        self._lost.set()
        self.todo.put(None)

    def on_disconnected(self) -> None:
        self._lost.set()
        self.todo.put(None)

    on_heartbeat_timeout = on_disconnected

    def _run(self) -> None:
        attempt = 0
        while not self._ending.is_set():
            url = self._endpoint.url[attempt % len(self._endpoint.url)]
            self._complaint = ""
            self._lost.clear()
            began = time.monotonic()
            reason = self._once(url)
            if self._ending.is_set():
                return
            self._loop.post(lambda reason=reason: self.link_is_down(reason))  # type: ignore[misc]  # its default
            lasted = time.monotonic() - began > _DELAYS_SECONDS[-1]
            attempt = 1 if lasted else attempt + 1
            self._ending.wait(_DELAYS_SECONDS[min(attempt, len(_DELAYS_SECONDS)) - 1])

    def _once(self, url: str) -> str:
        """Connects, and works until the connection is gone; returns why it is."""
        parts = urlsplit(url)
        to = stomp.Connection12(
            [(parts.hostname, parts.port or 61613)],
            prefer_localhost=False,
            try_loopback_connect=False,
            reconnect_attempts_max=1,
            timeout=_CONNECT_SECONDS,
            heartbeats=(_HEARTBEAT_MS, _HEARTBEAT_MS),
            auto_decode=False,
        )
        to.set_listener("link", self)
        todo: queue.SimpleQueue[Callable[[Any], None] | None] = queue.SimpleQueue()
        self.todo, self._stomp = todo, to
        try:
            self._connect(to)
            self.subscribe(to)
            self._loop.post(lambda: self.link_is_up(todo, f"{parts.hostname}:{parts.port}"))
            while not self._lost.is_set() and (what := todo.get()) is not None:
                what(to)
        except (StompException, OSError, SecretError) as error:
            return f"{url}: {self._complaint or error or type(error).__name__}"
        else:
            return f"{url}: {self._complaint or 'the peer closed the connection'}"
        finally:
            self._shut(to)

    def _connect(self, to: Any) -> None:
        login = self._endpoint.login
        user, password = (login.user, read_password(login.password_file)) if login else (None, None)
        headers = {"client-id": self._client_id} if self._client_id else {}
        to.connect(user, password, wait=False, headers=headers)
        self._bound_writes(to)
        to.transport.wait_for_connection(_CONNECT_SECONDS)

    @property
    def _client_id(self) -> str:
        return self._path.subscription or ""

    @staticmethod
    def _bound_writes(to: Any) -> None:
        if to.transport.socket is not None:
            to.transport.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SNDTIMEO.pack(_WRITE_SECONDS, 0)
            )

    @staticmethod
    def _shut(to: Any) -> None:
        with contextlib.suppress(Exception):  # whatever it raises, it is gone
            to.remove_listener("link")
        with contextlib.suppress(Exception):
            to.transport.disconnect_socket()
