"""Senders of loads over a link that does what the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_transport import MemoryConnection, MemorySendingLink, MemoryTransport

from collectors.config.paths import Path
from collectors.contract.records import Gap
from collectors.probe.durable.journal import NoLedgerJournal
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.schedule import Schedule
from collectors.probe.message import decode_body
from collectors.probe.publisher import Publisher, header_for
from collectors.probe.sender import Sender
from deploy.loads.model import Description
from deploy.loads.paths import tasks
from deploy.loads.senders import AskingSender, RelayingSender, WindowedSender
from deploy.loads.tokens import Token

SECOND = 1_000_000_000
LOAD = {"kind": "bandwidth", "from": "a", "to": "a", "address": "inflight/x", "size": "80B", "count": 100}


class Nowhere:
    def put(self, record: bytes, key: str) -> None: ...

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002
        return ()


class Sending:
    """A sender of some kind, at once attached and with credit for a thousand messages."""

    def __init__(self, kind: Callable[..., Sender], **more: Any) -> None:
        description = {"endpoints": {"a": {"url": "amqp://a:5672"}}, "loads": {"x": LOAD}}
        (task,) = tasks(Description.model_validate(description)).values()
        path: Path = task.path
        self.loop, clock = Loop(), RunClock.start()
        self.transport = MemoryTransport(self.loop, credit=1_000)
        connection = MemoryConnection(self.transport)
        self.sender = kind(
            self.loop,
            connection,
            path,
            Schedule(path.rate, count=path.count),
            Publisher([header_for(path, "sender", "it", 1, 0)], Nowhere(), lambda _number, _frontier: None),
            run=1,
            clock=clock,
            guard=Guard(1_000_000),
            cap=RateCap(0),
            journal=NoLedgerJournal(),
            **more,
        )
        self.link: MemorySendingLink = connection.links[0]
        connection.start()
        self.sender.start()
        self.turn()

    def turn(self) -> None:
        """A round of the loop."""
        self.loop.post(lambda: None)
        self.loop.round()
        self.loop.post(lambda: None)
        self.loop.round()

    @property
    def out(self) -> list[int]:
        return self.link.numbers


def test_bandwidth_has_a_window_of_messages_out() -> None:
    """With credit for more: three outcomes make room for three."""
    it = Sending(WindowedSender, window=7)
    assert it.out == list(range(7))
    for number in (0, 3, 4):
        it.link.settle(number, "accepted")
    it.turn()
    assert it.out == [1, 2, 5, 6, 7, 8, 9]


def test_messages_that_are_lost_with_a_connection_make_room() -> None:
    it = Sending(WindowedSender, window=4)
    it.link.lose("cut")
    it.link.attach()
    it.turn()
    assert it.out == [4, 5, 6, 7]


def test_an_outcome_is_no_answer() -> None:
    """The partner may still be at it."""
    it = Sending(AskingSender, window=2, patience_ns=SECOND)
    assert it.out == [0, 1]
    it.link.settle(0, "accepted")
    it.turn()
    assert it.out == [1]
    assert isinstance(it.sender, AskingSender)
    it.sender.answered(0)
    it.turn()
    assert it.out == [1, 2]


def test_a_question_that_is_given_back_is_not_waited_for() -> None:
    it = Sending(AskingSender, window=1, patience_ns=SECOND)
    it.link.settle(0, "released")
    it.turn()
    assert it.out == [1]


def relaying(**more: Any) -> tuple[Sending, RelayingSender]:
    others = ["inflight/x/1", "inflight/x/2"]
    it = Sending(RelayingSender, others=lambda: others, **{"hold_ns": 0, **more})
    assert isinstance(it.sender, RelayingSender)
    return it, it.sender


def test_tokens_go_on_in_the_order_in_which_they_came() -> None:
    """Each in a message of its own, with a number of the client's one sequence."""
    it, sender = relaying()
    assert it.out == []
    tokens = [Token(n, 0, 10 + n) for n in range(5)]
    for token in tokens:
        sender.pass_on(token, it.sender.backlog.start_ns)
    it.turn()
    sent = [data[4:] for _, _, data in it.transport.queues[""]]  # behind the transport's own four bytes
    assert [Token.read(memoryview(body), 0) for body in sent] == tokens
    bodies = [decode_body(body) for body in sent]
    assert [body.sequence for body in bodies if body] == [0, 1, 2, 3, 4]


def test_a_held_token_waits() -> None:
    it, sender = relaying(hold_ns=1_000 * SECOND)
    sender.pass_on(Token(0, 0, 0), it.sender.backlog.start_ns)
    it.turn()
    assert it.out == []
