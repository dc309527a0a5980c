"""The links of an end point and a role, as a probe has them on one connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.config.paths import Path
from collectors.probe.engine.loop import Loop
from collectors.probe.transport import ReceiverEvents, SenderEvents
from deploy.loads.model import StompEndpoint
from deploy.loads.stomp.link import StompLink
from deploy.loads.stomp.receiving import StompReceivingLink
from deploy.loads.stomp.sending import StompSendingLink


class StompConnection:
    """The links of an end point and a role."""

    def __init__(
        self, loop: Loop, endpoint: StompEndpoint, name: str, headers: Mapping[str, Mapping[str, str]]
    ) -> None:
        """`headers` are those of messages, by path."""
        self._loop, self._endpoint, self._name, self._headers = loop, endpoint, name, headers
        self._links: list[StompLink] = []
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
        sending = StompSendingLink(self, self._loop, self._endpoint, path, name)
        sending.tell(events, headers)
        self._links.append(sending)
        return sending

    def add_receiver(self, path: Path, name: str, events: ReceiverEvents) -> StompReceivingLink:
        receiving = StompReceivingLink(self, self._loop, self._endpoint, path, name)
        receiving.tell(events)
        self._links.append(receiving)
        return receiving

    def listen(self, name: str, take: object, **more: object) -> Any:
        raise NotImplementedError("clocks are not compared over STOMP")

    def note_sender(self, name: str) -> Any:
        raise NotImplementedError("clocks are not compared over STOMP")
