"""STOMP to a broker behind the probe's seam: links of stomp.py, each with a connection and threads of its own.

stomp.py blocks, so its calls are made in a link's own thread, and the loop is told of what happened. What STOMP
has not, is not made up: there is no credit, and messages are accepted by receipts, or sent without a word where
a path is presettled; receivers acknowledge each message, or none there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from collectors.config.paths import Path
from collectors.config.secrets import SecretError, read_password
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.guard import RateCap
from collectors.probe.message import MAGIC, Properties
from collectors.probe.transport import Envelope, ReceiverEvents, SenderEvents
from collectors.process.worker import Worker
from deploy.errors import Problem
from deploy.loads.model import StompEndpoint

os.environ.setdefault("STOMP_SKIP_HOSTNAME_SCAN", "1")  # it asks DNS for seconds when it is imported
try:
    import stomp
    from stomp.exception import StompException
except ImportError as error:
    raise Problem("STOMP needs stomp.py: install inflight-monitor[experiments]") from error

if TYPE_CHECKING:
    from stomp.utils import Frame

_log: Final = logging.getLogger("inflight.loads")
logging.getLogger("stomp.py").setLevel(logging.CRITICAL)  # it logs each loss with a traceback; links tell it
_HEARTBEAT_MS: Final = 10_000  # brokers end connections that say nothing for a while
_CONNECT_SECONDS: Final = 10.0
_WRITE_SECONDS: Final = 20  # a peer that takes nothing for so long is given up
_DELAYS_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_MOST_WAITING: Final = 1_000  # messages between the loop and the socket
_MOST_BYTES: Final = 1 << 18
_MOST_UNSETTLED: Final = 10_000
_MOST_RECEIVED: Final = 10_000  # messages between the socket and the loop
_SNDTIMEO: Final = struct.Struct("ll")


class StompConnection:
    """The links of an end point and a role."""

    def __init__(
        self, loop: Loop, endpoint: StompEndpoint, name: str, headers: Mapping[str, Mapping[str, str]]
    ) -> None:
        """`headers` are those of messages, by path."""
        self._loop, self._endpoint, self._name, self._headers = loop, endpoint, name, headers
        self._links: list[_Link] = []
        self._closing = False

    @property
    def open(self) -> bool:
        return bool(self._links) and all(link.attached for link in self._links)

    @property
    def closed(self) -> bool:
        return self._closing and all(link.ended for link in self._links)

    @property
    def problem(self) -> str:
        return next((link.problem for link in self._links if link.problem), "")

    @property
    def peer(self) -> str:
        return next((link.peer for link in self._links), "")

    def start(self) -> None:
        for link in self._links:
            link.start()

    def close(self) -> None:
        self._closing = True
        for link in self._links:
            link.end()

    abort = close

    def add_sender(self, path: Path, name: str, events: SenderEvents) -> StompSendingLink:
        headers = self._headers.get(path.name, {})
        link = StompSendingLink(self, self._loop, self._endpoint, path, name, events, headers)
        self._links.append(link)
        return link

    def add_receiver(self, path: Path, name: str, events: ReceiverEvents) -> StompReceivingLink:
        link = StompReceivingLink(self, self._loop, self._endpoint, path, name, events)
        self._links.append(link)
        return link

    def listen(self, name: str, take: object, **more: object) -> Any:
        raise NotImplementedError("clocks are not compared over STOMP")

    def note_sender(self, name: str) -> Any:
        raise NotImplementedError("clocks are not compared over STOMP")


class _Link:
    """A connection of stomp.py that comes back: its thread connects, and then does what is put into `todo`."""

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

    def was_attached(self) -> None:
        raise NotImplementedError

    def was_lost(self, reason: str) -> None:
        raise NotImplementedError

    # -- in threads of its own

    def subscribe(self, to: Any) -> None:
        """Connected: says what it wants."""

    def on_message(self, frame: Frame) -> None:
        """A message came."""

    def on_receipt(self, frame: Frame) -> None:
        """The broker has taken what bore this receipt."""

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
            return f"{url}: {self._complaint or 'the peer closed the connection'}"
        except (StompException, OSError, SecretError) as error:
            return f"{url}: {self._complaint or error or type(error).__name__}"
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


class StompSendingLink(_Link):
    """Sends; a receipt is an outcome."""

    held = False

    def __init__(
        self,
        connection: StompConnection,
        loop: Loop,
        endpoint: StompEndpoint,
        path: Path,
        name: str,
        events: SenderEvents,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(connection, loop, endpoint, path, name)
        self._events = events
        self._room = max(1, min(_MOST_WAITING, _MOST_BYTES // path.size[1]))
        self._unsettled: dict[int, None] = {}
        self._waiting: deque[int] = deque()  # numbers that its thread has not written yet
        self._receipts: deque[int] = deque()  # that the loop has not seen yet
        self._headers = {"content-type": "application/octet-stream", **headers}
        self._headers["destination-type"] = "MULTICAST" if path.multicast else "ANYCAST"

    @property
    def credit(self) -> int:
        if not self.attached:
            return 0
        return max(0, min(self._room - len(self._waiting), _MOST_UNSETTLED - len(self._unsettled)))

    @property
    def unsettled(self) -> int:
        return len(self._waiting) if self._path.presettled else len(self._unsettled)

    @property
    def first_unwritten(self) -> int | None:
        return next(iter(self._waiting), None)

    def when_written(self, call: Callable[[], None]) -> None:
        self._loop.post(call)

    def encode(self, body: bytes, properties: Properties) -> bytearray:
        self._headers["persistent"] = "true" if properties.durable else "false"
        self._headers["priority"] = str(properties.priority)
        self._expires_ms = properties.ttl_ns // 1_000_000
        return bytearray(body)

    def prepare(self, message: bytearray) -> Callable[[int], None]:
        presettled, todo = self._path.presettled, self.todo
        waiting, unsettled, address = self._waiting, self._unsettled, self._path.address

        def send(number: int) -> None:
            body = bytes(message)
            headers = dict(self._headers)
            if not presettled:
                unsettled[number] = None
                headers["receipt"] = str(number)
            waiting.append(number)

            def write(to: Any) -> None:
                headers["expires"] = str(time.time_ns() // 1_000_000 + self._expires_ms)
                to.send(address, body, headers=headers)
                waiting.popleft()
                if len(waiting) == self._room // 2:
                    self._loop.post(self._events.on_credit)

            todo.put(write)

        return send

    def flush(self, first: int, below: int) -> None:
        """Its thread writes what there is without being told."""

    def was_attached(self) -> None:
        self._events.on_attached()

    def was_lost(self, reason: str) -> None:
        numbers = list(self._waiting) if self._path.presettled else list(self._unsettled)
        self._waiting, self._unsettled = deque(), {}
        self._events.on_lost(reason, numbers)

    def on_receipt(self, frame: Frame) -> None:
        receipts = self._receipts
        receipts.append(int(frame.headers["receipt-id"]))
        if len(receipts) == 1:
            self._loop.post(self._settle)

    def _settle(self) -> None:
        was_full = len(self._unsettled) >= _MOST_UNSETTLED
        while self._receipts:
            number = self._receipts.popleft()
            if self._unsettled.pop(number, 0) is None:
                self._events.on_outcome(number, "accepted")
        if was_full:
            self._events.on_credit()


class StompReceivingLink(_Link):
    """Receives, and acknowledges each message unless the path is presettled."""

    credit = 0

    def __init__(
        self,
        connection: StompConnection,
        loop: Loop,
        endpoint: StompEndpoint,
        path: Path,
        name: str,
        events: ReceiverEvents,
    ) -> None:
        super().__init__(connection, loop, endpoint, path, name)
        self._events = events
        self._came: deque[tuple[bytes, str, bool]] = deque()  # body, id for its ACK, delivered before
        self._stopped = False
        self._reads = RateCap(path.reads_per_second)

    def grant(self, count: int) -> None:
        """There is no credit: who reads at a rate does so in `on_message`."""

    @property
    def is_read(self) -> bool:
        return not self._came

    def stop(self) -> None:
        self._stopped = True

    def envelope(self, data: bytes) -> Envelope | None:
        found = data.startswith(MAGIC, 1)  # behind the byte of `_take`
        return Envelope(1, len(data) - 1, redelivered=data[0] == 1, route=None) if found else None

    def reply_address(self, data: bytes) -> str | None:  # noqa: ARG002 -- nobody asks for answers
        return None

    def was_attached(self) -> None:
        self._events.on_attached(self._path.receive_address)

    def was_lost(self, reason: str) -> None:
        self._events.on_lost(reason)

    def subscribe(self, to: Any) -> None:
        path = self._path
        headers: dict[str, str] = {"subscription-type": "MULTICAST" if path.multicast else "ANYCAST"}
        if path.selector is not None:
            headers["selector"] = path.selector
        if path.subscription is not None:
            headers["durable-subscription-name"] = path.subscription
        to.subscribe(
            path.receive_address, id="0", ack="auto" if path.presettled else "client-individual", headers=headers
        )

    def on_message(self, frame: Frame) -> None:
        while self._reads.room(time.monotonic_ns()) < 1 or len(self._came) >= _MOST_RECEIVED:
            if self._ending.wait(0.001):
                return
        self._reads.take(1)
        redelivered = frame.headers.get("redelivered") == "true"
        self._came.append((frame.body, frame.headers.get("ack", ""), redelivered))
        if len(self._came) == 1:
            self._loop.post(self._take)

    def _take(self) -> None:
        while self._came and not self._stopped:
            body, ack, redelivered = self._came[0]
            data = (b"\1" if redelivered else b"\0") + body
            accepted = self._events.on_message(memoryview(data), len(data))
            self._came.popleft()
            if ack and not self._path.presettled:
                self.todo.put(lambda to, ack=ack, take=accepted: to.ack(ack) if take else to.nack(ack))  # type: ignore[misc]  # its defaults

