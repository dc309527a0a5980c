"""Receives over STOMP."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from collectors.config.paths import Path
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.guard import RateCap
from collectors.probe.message import MAGIC
from collectors.probe.transport import Envelope, ReceiverEvents
from deploy.loads.model import StompEndpoint
from deploy.loads.stomp.link import StompLink

if TYPE_CHECKING:
    from stomp.utils import Frame

    from deploy.loads.stomp.connection import StompConnection

_MOST_RECEIVED: Final = 10_000  # messages between the socket and the loop


class StompReceivingLink(StompLink):
    """Receives, and acknowledges each message unless the path is presettled."""

    credit = 0
    _events: ReceiverEvents

    def __init__(
        self, connection: StompConnection, loop: Loop, endpoint: StompEndpoint, path: Path, name: str
    ) -> None:
        super().__init__(connection, loop, endpoint, path, name)
        self._came: deque[tuple[bytes, str, bool]] = deque()  # body, id for its ACK, delivered before
        self._stopped = False
        self._reads = RateCap(path.reads_per_second)

    def tell(self, events: ReceiverEvents) -> None:
        """Whom to tell what happens."""
        self._events = events

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
            path.receive_address,
            id="0",
            ack="auto" if path.presettled else "client-individual",
            headers=headers,
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
