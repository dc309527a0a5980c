"""By which of its two links a marked path's sender sends, and what it knows of what was sent by each."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_transport import MemoryConnection, MemorySendingLink, MemoryTransport

from collectors.config.paths import Path
from collectors.config.units import Step
from collectors.contract.record_codec import decode
from collectors.contract.records import OUTCOMES, SECOND_NS, Gap, Record
from collectors.probe import sender as sender_module
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.schedule import Schedule
from collectors.probe.message import Body, decode_body
from collectors.probe.publisher import Publisher, header_for
from collectors.probe.sender import Sender

_RUN = 0xFEED
_HEAD_BYTES = 4


class _Clock:
    """Goes on by the next of its steps, in turn, whenever it is read."""

    boot = epoch_ns = 0

    def __init__(self, steps: list[int]) -> None:
        self._now_ns, self._steps = 0, itertools.cycle(steps)

    def now_ns(self) -> int:
        self._now_ns += next(self._steps)
        return self._now_ns


class _Kept:
    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, record: bytes, key: str) -> None:  # noqa: ARG002 -- the interface
        self.records.append(decode(record))

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002
        return ()


class _Sending:
    """A marked path's sender that sends as fast as it may, by links that do what the test says."""

    def __init__(
        self, path: Path, clock: _Clock, *, count: int, marking_seconds: int = 1, presettled: bool = False
    ) -> None:
        path = dataclasses.replace(path, marking_ns=marking_seconds * SECOND_NS, presettled=presettled)
        self.sink, self.journal = _Kept(), mock.Mock()
        self.transport = MemoryTransport(Loop(), credit=0)
        self.connection = MemoryConnection(self.transport)
        header = header_for(path, "sender", "end-0", _RUN, clock.now_ns())
        self.sender = Sender(
            self.transport.loop,
            self.connection,
            path,
            Schedule([Step(0.0, 0.0, None)], count=count),
            Publisher([header], self.sink, lambda _number, _frontier: None),
            run=_RUN,
            clock=cast("RunClock", clock),
            guard=Guard(1_000_000),
            cap=RateCap(0),
            journal=self.journal,
        )
        self.links: list[MemorySendingLink] = self.connection.links
        self.sender.start()

    def sent(self, colour: int) -> list[Body]:
        queue = self.transport.queues[f"inflight/p/{colour}"]
        return [body for _, _, data in queue if (body := decode_body(data, _HEAD_BYTES))]

    def ledger(self) -> Counter[str]:
        """How many messages its records tell of, by outcome."""
        self.sender.publish(bye=True)
        newest = {r.header.second: r.ledger for r in self.sink.records if r.ledger is not None}
        found: Counter[str] = Counter()
        for ledger in newest.values():
            for length, outcome in zip(ledger.length.tolist(), ledger.outcome.tolist(), strict=True):
                found[OUTCOMES[outcome]] += length
        return found


@pytest.fixture(autouse=True)
def _no_patch_left() -> Any:
    with mock.patch.object(sender_module, "time", SimpleNamespace(monotonic_ns=None)):
        yield


def _sending(path: Path, steps: list[int], **options: Any) -> _Sending:
    clock = _Clock(steps)
    sender_module.time.monotonic_ns = clock.now_ns  # type: ignore[assignment]
    return _Sending(path, clock, **options)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(1, 700_000_000), min_size=1, max_size=20),
    st.integers(1, 3),
    st.lists(st.integers(0, 9), min_size=2, max_size=12).filter(
        lambda some: any(some[::2]) and any(some[1::2])
    ),
)
def test_the_colour_is_that_of_the_time_in_the_message(
    probe_path: Path, steps: list[int], marking_seconds: int, grants: list[int]
) -> None:
    """Whenever the clock is read and credit comes: each number once, by the link of when it was sent."""
    sending = _sending(probe_path, steps, count=60, marking_seconds=marking_seconds)
    sending.connection.start()
    given_credit = [0, 0]
    for turn in itertools.cycle(enumerate(grants)):
        if sending.sender.sent == 60:
            break
        colour = turn[0] % 2
        given_credit[colour] += turn[1]
        sending.links[colour].grant(turn[1])
    bodies = [sending.sent(0), sending.sent(1)]
    for colour, those in enumerate(bodies):
        for body in those:
            in_the_second_half = (
                body.sent_ns % (2 * marking_seconds * SECOND_NS) >= marking_seconds * SECOND_NS
            )
            assert in_the_second_half == bool(colour)
        assert len(those) <= given_credit[colour]
    in_order = sorted(itertools.chain(*bodies), key=lambda body: body.sent_ns)
    assert [body.sequence for body in in_order] == list(range(60))
    assert sending.ledger() == {"unsettled": 60}


def test_without_credit_in_its_colour_it_waits(probe_path: Path) -> None:
    """The other link's credit is not used; when the colour changes, it is."""
    sending = _sending(probe_path, [SECOND_NS // 50], count=20, marking_seconds=1)
    sending.connection.start()
    assert not sending.sender.has_credit
    sending.links[1].grant(100)
    assert sending.sender.sent == 0
    while not sending.sender.sent:
        sending.sender.on_credit()
    assert sending.sent(0) == []
    assert sending.sent(1)[0].sent_ns // SECOND_NS == 1


def test_attached_only_where_both_links_are(probe_path: Path) -> None:
    """The state that records tell is of both; sending goes on in the colour that is there."""
    sending = _sending(probe_path, [1_000], count=20)
    sending.connection.start()
    assert sending.sender.link_up
    sending.links[1].lose("the peer detached the link")
    assert not sending.sender.link_up
    assert sending.sender.problem == "the peer detached the link"
    sending.links[0].grant(5)
    assert sending.sender.sent == 5
    sending.sender.publish()
    assert sending.sink.records[-1].header.link == "detached"
    sending.links[1].attach()
    assert sending.sender.link_up
    sending.sender.publish()
    assert sending.sink.records[-1].header.link == "attached"


def test_what_may_not_have_left_is_known_by_number(probe_path: Path) -> None:
    """A presettled colour's messages that were not written are lost with it; the other's numbers are not."""
    sending = _sending(probe_path, [SECOND_NS // 50], count=100, presettled=True)
    sending.connection.start()
    sending.links[0].grant(3)
    first = sending.sender.sent
    assert 0 < first <= 3
    sending.links[1].grant(100)
    while len(sending.sent(1)) < 4:
        sending.sender.on_credit()
    second = len(sending.sent(1))
    sending.links[1].write()
    # All from the first on may be lost with a kill, though those of the other colour are out.
    assert sending.journal.write.call_args.args[1] == 0
    assert sending.sender.unsettled == first
    sending.links[0].lose("cut")
    assert sending.ledger() == {"unsettled": first, "presettled": second}
