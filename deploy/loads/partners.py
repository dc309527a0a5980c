"""Partners that answer: each message goes back as it came, to the address that it asks for.

On the links of a probe's ends, as encoding each answer anew costs more than the rest of a round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final, NamedTuple

from collectors.amqp import containers
from collectors.config.model import Endpoint
from collectors.config.paths import Path
from collectors.contract.records import Outcome
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.message import Properties
from collectors.probe.publisher import new_run
from collectors.probe.transport import Connection, ReceivingLink, SendingLink

_MAX_ANSWERS: Final = 256


class _Answer(NamedTuple):
    """What the answer to messages with one head is written into, and what sends it."""

    message: bytearray
    body_bytes: int
    send: Callable[[int], None]


class Partner:
    """Answers what comes to a path's address; on a connection of its own, in a loop's thread."""

    def __init__(self, loop: Loop, endpoint: Endpoint, path: Path) -> None:
        self._loop, self._path = loop, path
        name = containers.of_probe("partner", "loads", path.target, f"{new_run():016x}")
        self._connection: Connection = AmqpTransport(loop).connection(endpoint, name)
        own = replace(path, receive_address=path.address)
        self._inbox: Final[ReceivingLink] = self._connection.add_receiver(own, "inflight-partner-in", self)
        self._out = _Outgoing(self._connection, path)
        self._problem = ""
        self._body_at = 0  # in the last message
        self._number = 0
        self.dropped = 0  # answers that could not be sent at once

    @property
    def ready(self) -> bool:
        return self._inbox.attached and self._out.link.attached

    @property
    def problem(self) -> str:
        """Why there is no link."""
        reasons = (self._connection.problem, self._problem, self._out.problem)
        return next(filter(None, reasons), "the peer has not answered yet")

    def start(self) -> None:
        self._loop.post(self._connection.start)

    def stop(self) -> None:
        self._loop.post(self._connection.abort)

    # -- what its inbox tells

    def on_attached(self, address: str) -> None:  # noqa: ARG002 -- its path's
        self._problem = ""

    def on_lost(self, reason: str) -> None:
        self._problem = reason

    def on_message(self, buffer: memoryview, size: int) -> bool:
        answer = self._out.answers.get((bytes(buffer[: self._body_at]), size))
        if answer is None:
            answer = self._new_answer(bytes(buffer[:size]))
        if answer is None or self._out.link.credit <= 0:
            self.dropped += 1
            return True
        answer.message[-answer.body_bytes :] = buffer[self._body_at : size]
        number, self._number = self._number, self._number + 1
        answer.send(number)
        self._out.link.flush(number, number + 1)
        return True

    def _new_answer(self, data: bytes) -> _Answer | None:
        found, to = self._inbox.envelope(data), self._inbox.reply_address(data)
        if found is None or to is None or not found.body_bytes or not self._out.link.attached:
            return None
        self._body_at = found.body_at
        path, link = self._path, self._out.link
        properties = Properties(ttl_ns=path.ttl_ns, durable=path.durable, priority=path.priority, to=to)
        message = link.encode(data[found.body_at :], properties)
        answer = _Answer(message, found.body_bytes, link.prepare(message))
        if len(self._out.answers) >= _MAX_ANSWERS:
            self._out.answers.clear()  # some peers count TTL down: no two heads are the same
        self._out.answers[data[: found.body_at], len(data)] = answer
        return answer


class _Outgoing:
    """A presettled link to any address; what becomes of an answer is told by who waits for it."""

    def __init__(self, connection: Connection, path: Path) -> None:
        self.problem = ""
        self.answers: Final[dict[tuple[bytes, int], _Answer]] = {}  # by a message's head and size
        anonymous = replace(path, address="", presettled=True)
        self.link: Final[SendingLink] = connection.add_sender(anonymous, "inflight-partner-out", self)

    def on_attached(self) -> None:
        self.problem = ""
        self.answers.clear()

    def on_lost(self, reason: str, numbers: Collection[int]) -> None:  # noqa: ARG002 -- who asked knows
        self.problem = reason
        self.answers.clear()

    def on_credit(self) -> None: ...

    def on_outcome(self, number: int, outcome: Outcome) -> None: ...

    def before_write(self) -> None: ...
