"""Sends over STOMP; a receipt is an outcome."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from collectors.config.paths import Path
from collectors.probe.engine.loop import Loop
from collectors.probe.message import Properties
from collectors.probe.transport import SenderEvents
from deploy.loads.model import StompEndpoint
from deploy.loads.stomp.link import StompLink

if TYPE_CHECKING:
    from stomp.utils import Frame

    from deploy.loads.stomp.connection import StompConnection

_MOST_WAITING: Final = 1_000  # messages between the loop and the socket
_MOST_BYTES: Final = 1 << 18
_MOST_UNSETTLED: Final = 10_000


class StompSendingLink(StompLink):
    """What waits for its thread is bounded: there is no credit that would."""

    held = False
    _events: SenderEvents

    def __init__(
        self, connection: StompConnection, loop: Loop, endpoint: StompEndpoint, path: Path, name: str
    ) -> None:
        super().__init__(connection, loop, endpoint, path, name)
        self._room = max(1, min(_MOST_WAITING, _MOST_BYTES // path.size[1]))
        self._unsettled: dict[int, None] = {}
        self._waiting: deque[int] = deque()  # numbers that its thread has not written yet
        self._receipts: deque[int] = deque()  # that the loop has not seen yet
        self._headers: dict[str, str] = {}
        self._expires_ms = 0

    def tell(self, events: SenderEvents, headers: Mapping[str, str]) -> None:
        """Whom to tell what happens, and what every message says."""
        self._events = events
        to = "MULTICAST" if self._path.multicast else "ANYCAST"
        self._headers = {"content-type": "application/octet-stream", "destination-type": to, **headers}

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

    def subscribe(self, to: Any) -> None:
        """It only sends."""

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
