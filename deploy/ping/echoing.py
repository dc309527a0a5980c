"""The peer of `ping --ping-pong`: sends every message back to the address that the message asks for."""

from __future__ import annotations

import logging
from typing import Final

from collectors.config.model import Endpoint
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.publisher import new_run
from collectors.probe.transport import Note
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.ping")


class EchoingPeer:
    """Echoes messages of one address, in a thread of its own, from `start` to `stop`."""

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        self._loop = Loop()
        self._connection = AmqpTransport(self._loop).connection(endpoint, f"inflight-echo-{new_run():016x}")
        self._listener = self._connection.listen("inflight-echo", self._echo, address=address)
        self._sender = self._connection.note_sender("inflight-echo")
        self._worker = Worker("echo", self._loop.run)
        self.echoed = 0
        self.dropped = 0

    @property
    def ready(self) -> bool:
        return self._listener.address is not None

    def start(self) -> None:
        self._loop.post(self._connection.start)
        self._worker.start()

    def stop(self) -> None:
        self._loop.post(self._connection.abort)
        self._loop.post(self._loop.stop)
        self._worker.join(2)
        self._loop.close()

    def _echo(self, note: Note) -> None:
        if note.reply_to and self._sender.send(note._replace(to=note.reply_to, reply_to=None)):
            self.echoed += 1
        else:
            self.dropped += 1
