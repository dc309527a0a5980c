"""The connections of one process whose end points speak AMQP or STOMP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.config.model import Endpoint
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.transport import Connection
from deploy.loads.model import StompEndpoint
from deploy.loads.stomp.connection import StompConnection


class Transports:
    """Makes each by its end point."""

    def __init__(self, loop: Loop, headers: Mapping[str, Mapping[str, str]]) -> None:
        """`headers` are those of STOMP messages, by path."""
        self._loop, self._headers = loop, headers
        self._amqp = AmqpTransport(loop)
        self._stomp: list[StompConnection] = []

    def connection(self, endpoint: Endpoint | StompEndpoint, name: str) -> Any:
        if isinstance(endpoint, StompEndpoint):
            self._stomp.append(StompConnection(self._loop, endpoint, name, self._headers))
            return self._stomp[-1]
        return self._amqp.connection(endpoint, name)

    def connections(self) -> list[Connection]:
        return [*self._amqp.connections(), *self._stomp]
