"""The peer of `ping --ping-pong`: sends every message back to the address that the message asks for."""

from __future__ import annotations

import logging
from typing import Final

from proton import Message

from collectors.amqp import options
from collectors.config.model import Endpoint
from collectors.probe.engine.connection import Connection
from collectors.probe.engine.loop import Loop
from collectors.probe.engine.side_links import Inlet, Outlet
from collectors.probe.measure.clock_messages import echo
from collectors.probe.publisher import new_run
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.ping")


class EchoingPeer:
    """Echoes messages of one address, in a thread of its own, from `start` to `stop`."""

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        self._loop = Loop()
        self._connection = Connection(
            self._loop,
            lambda: [options.options(url, endpoint.tls, endpoint.sasl) for url in endpoint.url],
            f"inflight-echo-{new_run():016x}",
        )
        self._inlet = Inlet(self._connection, "inflight-echo", self._take, address=address)
        self._outlet = Outlet(self._connection, "inflight-echo")
        self._connection.add(self._inlet)
        self._connection.add(self._outlet)
        self._worker = Worker("echo", self._loop.run)
        self.echoed = 0
        self.dropped = 0

    @property
    def ready(self) -> bool:
        return self._inlet.address is not None

    def start(self) -> None:
        self._loop.post(self._connection.start)
        self._worker.start()

    def stop(self) -> None:
        self._loop.post(self._connection.abort)
        self._loop.post(self._loop.stop)
        self._worker.join(2)
        self._loop.close()

    def _take(self, message: Message) -> None:
        reply = echo(message)
        if reply is not None and self._outlet.send(reply):
            self.echoed += 1
        else:
            self.dropped += 1
