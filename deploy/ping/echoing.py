"""The peer of `ping --ping-pong`: sends every message back to the address that the message asks for."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from collectors.config.model import Endpoint
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.publisher import new_run
from collectors.probe.transport import Note
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.ping")


class Echoes:
    """Echoes messages of some addresses, in a loop's thread, from `start` to `stop`."""

    def __init__(self, loop: Loop, endpoint: Endpoint, addresses: Sequence[str]) -> None:
        self._loop = loop
        self._connection = AmqpTransport(loop).connection(endpoint, f"inflight-echo-{new_run():016x}")
        self._listeners = [
            self._connection.listen(f"inflight-echo-{number}", self._echo, address=address)
            for number, address in enumerate(addresses)
        ]
        self._sender = self._connection.note_sender("inflight-echo")
        self.echoed = 0
        self.dropped = 0

    @property
    def ready(self) -> bool:
        return self._sender.attached and all(listener.address is not None for listener in self._listeners)

    @property
    def problem(self) -> str:
        return self._connection.problem

    def start(self) -> None:
        self._loop.post(self._connection.start)

    def stop(self) -> None:
        self._loop.post(self._connection.abort)

    def _echo(self, note: Note) -> None:
        if note.reply_to and self._sender.send(note._replace(to=note.reply_to, reply_to=None)):
            self.echoed += 1
        else:
            self.dropped += 1


class EchoingPeer:
    """Echoes messages of one address, in a thread of its own, from `start` to `stop`."""

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        self._loop = Loop()
        self._echoes = Echoes(self._loop, endpoint, (address,))
        self._worker = Worker("echo", self._loop.run)

    @property
    def ready(self) -> bool:
        return self._echoes.ready

    @property
    def echoed(self) -> int:
        return self._echoes.echoed

    @property
    def dropped(self) -> int:
        return self._echoes.dropped

    def start(self) -> None:
        self._echoes.start()
        self._worker.start()

    def stop(self) -> None:
        self._echoes.stop()
        self._loop.post(self._loop.stop)
        self._worker.join(2)
        self._loop.close()
