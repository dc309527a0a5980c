"""AMQP 1.0 for the ends of paths: implements collectors/probe/transport.py on proton's engine."""

from __future__ import annotations

from collectors.amqp.options import AmqpOptions, read_options
from collectors.config.model import Endpoint
from collectors.probe.engine.connection import AmqpConnection
from collectors.probe.engine.loop import Loop
from collectors.probe.engine.splitting import Splitter
from collectors.probe.transport import Connection


class AmqpTransport:
    """Makes the AMQP connections of a process."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._asked_for: list[AmqpConnection] = []
        self._splitter = Splitter()

    def connection(self, endpoint: Endpoint, name: str) -> AmqpConnection:
        def peers() -> list[AmqpOptions]:
            return [read_options(url, endpoint.tls, endpoint.sasl) for url in endpoint.url]

        self._asked_for.append(AmqpConnection(self._loop, peers, name, self._splitter.rejected))
        return self._asked_for[-1]

    def connections(self) -> list[Connection]:
        return [*self._asked_for, *self._splitter.made()]
