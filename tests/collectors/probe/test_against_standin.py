"""Probes through a router that is told what to do with their messages."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from helpers import wait_until
from proton import Delivery
from proton.utils import BlockingConnection
from standin_clients import Clients, StandIn

from collectors.contract.records import FLAG_REDELIVERED, SECOND_NS
from collectors.probe.ends import Ends
from collectors.probe.receiver import Receiver

pytestmark = pytest.mark.slow


def _config(router: StandIn, address: str, **settings: Any) -> str:
    options = {"rate": "200/s", "count": 100, **settings}
    to = options.pop("to", "b")
    shown = ", ".join(f"{name}: {json.dumps(value)}" for name, value in options.items())
    return f"""
endpoints:
  a: {{url: "amqp://127.0.0.1:{router.port}"}}
  b: {{url: "amqp://127.0.0.1:{router.port}"}}
defaults: {{window: 1s, settle: 1s}}
paths: {{p: {{from: a, to: {to}, address: "{address}", {shown}}}}}
"""


@pytest.mark.parametrize("presettled", [False, True])
def test_all_arrive(router: StandIn, run: Any, *, presettled: bool) -> None:
    """Every message sent is received, and nothing else."""
    measured = run(_config(router, f"closest/all-{presettled}", presettled=presettled))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 100, "received": 100, "due": 100}
    sender = [record for record in measured.records if record.header.role == "sender"]
    assert sender[-1].header.kind == "bye"
    assert {record.header.stream for record in measured.records if record.received is not None} == {
        sender[0].header.run
    }


def test_dropped_presettled_are_lost(router: StandIn, run: Any) -> None:
    """Told to drop 7 presettled messages: exactly 7 are lost, as presettled."""
    router.tell(kind="drop", address="closest/dropped", count=7)
    measured = run(_config(router, "closest/dropped", presettled=True))
    measured.wait_finished()
    measured.prober.loop.post(lambda: None)
    wait_until(lambda: measured.received == 93, 10, "the rest to arrive")
    measured.finish()
    total = measured.total("p")
    assert (total["received"], total["lost"] + total["unobserved"]) == (93, 7)


def test_acknowledged_and_gone(router: StandIn, run: Any) -> None:
    """Messages that the network accepted and did not deliver are lost, as accepted."""
    router.tell(kind="drop", address="closest/gone", count=5)
    measured = run(_config(router, "closest/gone"), linger_seconds=3.5)
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 100, "received": 95, "lost": 5, "lost accepted": 5, "due": 100}


@pytest.mark.parametrize(
    ("kind", "outcome"), [("release", "released"), ("reject", "rejected"), ("modify", "modified")]
)
def test_refused(router: StandIn, run: Any, kind: str, outcome: str) -> None:
    """Messages that the network gave back are refused, under the outcome it gave; they are not lost."""
    router.tell(kind=kind, address=f"closest/{kind}", count=9)
    measured = run(_config(router, f"closest/{kind}"))
    measured.wait_finished()
    measured.finish()
    expected = {"sent": 100, "received": 91, "refused": 9, f"refused {outcome}": 9, "due": 100}
    assert measured.total("p") == expected


def test_duplicated(router: StandIn, run: Any) -> None:
    """A message that arrives twice is received once and counted as a duplicate."""
    router.tell(kind="duplicate", address="closest/twice", count=4)
    measured = run(_config(router, "closest/twice"))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 100, "received": 100, "duplicate": 4, "due": 100}


def test_reordered_settlements(router: StandIn, run: Any) -> None:
    """Outcomes that come back in another order belong to the right numbers."""
    router.tell(kind="delay", address="closest/jumbled", ms=0, jitter_ms=60, reorder=True)
    router.tell(kind="reject", address="closest/jumbled", count=0)
    measured = run(_config(router, "closest/jumbled"))
    measured.wait_finished()
    measured.finish()
    total = measured.total("p")
    assert (total["received"], total["sent"]) == (100, 100)
    assert total["reordered"] > 0


def test_multicast(router: StandIn, run: Any) -> None:
    """Each receiver of a multicast has a path of its own; the sender's records stand under both."""
    measured = run(_config(router, "multicast/m", to="[a, b]", presettled=True))
    measured.wait_finished()
    measured.finish()
    for path in ("p/a", "p/b"):
        assert measured.total(path) == {"sent": 100, "received": 100, "due": 100}
    numbers: dict[str, list[int]] = {"p/a": [], "p/b": []}
    for record in measured.records:
        if record.header.role == "sender":
            numbers[record.header.path].append(record.header.number)
    assert numbers["p/a"] == numbers["p/b"] == list(range(len(numbers["p/a"])))


def test_a_multicast_begins_when_a_mesh_knows_its_receivers(
    router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real routers tell each other of receivers once a second: the first message is later than that."""
    monkeypatch.setattr(Receiver, "on_attached", _slowly(Receiver.on_attached))
    measured = run(_config(router, "multicast/slow", to="[a, b]", presettled=True, count=5))
    measured.wait_finished()
    measured.finish()
    first_ns = min(int(r.received.sent_ns.min()) for r in measured.records if r.received is not None)
    headers = [record.header for record in measured.records if record.header.role == "receiver"]
    attached_ns = max(span.to_ns for header in headers for span in header.detached)
    assert first_ns - attached_ns > 1.5 * SECOND_NS


def _slowly(attach: Any) -> Any:
    def later(receiver: Receiver, address: str) -> None:
        time.sleep(0.5)
        attach(receiver, address)

    return later


def test_two_senders_three_receivers(router: StandIn, run: Any) -> None:
    """Two streams shared out to three receivers: together they have all of both."""
    measured = run(_config(router, "balanced/shared", senders=2, receivers=3, count=101))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 101, "received": 101, "due": 101}
    assert {end.sender.sent for end in measured.prober.senders} == {50, 51}
    assert len({r.header.run for r in measured.records if r.header.role == "receiver"}) == 3


def test_foreign_messages(router: StandIn, run: Any) -> None:
    """Other people's messages are counted, accepted, and nobody's loss."""
    measured = run(_config(router, "closest/foreign", count=50))
    measured.wait_sent(1)
    clients = Clients()
    sender = clients.sender(router.port, "closest/foreign")
    for body in (b"x" * 300, b"Infl" + b"\0" * 100, b""):
        sender.send(body=body)
    sender.settled(3)
    wait_until(lambda: measured.prober.receivers[0].foreign == 3, 10, "the foreign ones to be seen")
    measured.wait_finished()
    measured.finish()
    clients.close()
    assert measured.total("p") == {"sent": 50, "received": 50, "foreign": 3, "due": 50}


def test_warm_up_is_not_counted(router: StandIn, run: Any) -> None:
    """Warm-up messages are a run of their own, which appears in no row."""
    measured = run(_config(router, "closest/warm", warmup="500ms", count=20))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 20, "received": 20, "due": 20}
    warm = {r.header.run for r in measured.records if r.header.warmup}
    assert len(warm) == 1
    assert not warm & {r.header.stream for r in measured.records if r.received is not None}


def test_route_is_told(router: StandIn, run: Any) -> None:
    """Where routers write themselves into the message, the record says which way it came."""
    measured = run(_config(router, "closest/route", count=5))
    measured.wait_finished()
    measured.finish()
    routes = [record.header.routes for record in measured.records if record.received is not None]
    assert sum(sum(route.values()) for route in routes) in {0, 5}


def test_clock_of_the_same_boot_is_exact(router: StandIn, run: Any) -> None:
    """Both ends on one host: the offset is exact from the first message on."""
    measured = run(_config(router, "closest/boot", count=5))
    measured.wait_finished()
    measured.finish()
    first = next(record for record in measured.records if record.received is not None)
    run_of = first.header.stream
    told = [r.header.clock for r in measured.records if r.header.role == "receiver" and r.header.clock]
    assert told
    assert all(clock[run_of] == (0, 0) for clock in told)
    assert not any(flag == FLAG_REDELIVERED for flag in first.received.flags)


def test_an_end_is_known_from_its_beginning(
    router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short it is, and whenever it began: no window is told without a receiver that was there."""
    begin = Ends.begin

    def begin_late(ends: Ends) -> None:
        """As on a busy machine: in the next second, just after the moment at which a receiver publishes."""
        time.sleep((1_120_000_000 - time.time_ns() % SECOND_NS) / 1e9)
        begin(ends)

    monkeypatch.setattr(Ends, "begin", begin_late)
    measured = run(_config(router, "closest/short", count=20, rate="100/s"), stop_when_finished=True)
    assert measured.prober.ended.wait(30)
    measured.finish()
    assert measured.total("p") == {"sent": 20, "received": 20, "due": 20}
    clocks = [row["clock"] for row in measured.rows("p") if row["sent"]]
    assert clocks
    assert all(clock == {"offset_ns": 0, "bound_ns": 0} for clock in clocks)


def test_total_rate_of_a_host(router: StandIn, run: Any) -> None:
    """All senders together stay under the cap; what was due beyond it is unsent because of the guard."""
    settings = {"rate": "200/s", "duration": "2s", "max_backlog": 10}
    settings["count"] = 100_000
    measured = run(_config(router, "closest/capped", **settings), max_rate=50.0)
    measured.wait_finished()
    measured.finish()
    total = measured.total("p")
    assert total["due"] == total["sent"] + total["unsent guard"]
    assert total["sent"] <= 50 * 3
    assert total["received"] == total["sent"]


def test_foreign_messages_may_be_released(router: StandIn, run: Any) -> None:
    """On request, what is none of ours is given back instead of taken."""
    measured = run(_config(router, "closest/given-back", count=20, foreign="release"))
    measured.wait_sent(1)
    clients = Clients()
    sender = clients.sender(router.port, "closest/given-back")
    sender.send(body=b"not a probe's")
    assert sender.settled(1) == [Delivery.RELEASED]
    clients.close()
    measured.wait_finished()
    measured.finish()
    assert measured.total("p")["foreign"] == 1


def test_nothing_takes_messages(router: StandIn, run: Any) -> None:
    """No receiver, no credit: all that was due is unsent, for that reason, and nothing else is said."""
    settings = _config(router, "closest/nobody", rate="100/s", count=50, max_backlog=20)
    measured = run(settings, receive=False)
    wait_until(lambda: measured.prober.senders[0].sender.backlog.unsent >= 30, 20, "messages to be given up")
    assert not measured.prober.senders[0].sender.up
    measured.finish()
    ledgers: dict[int, Any] = {}
    for record in measured.records:
        if record.ledger is not None:
            ledgers[record.header.second] = record.header
    assert sum(header.due for header in ledgers.values()) == 50
    assert sum(header.unsent.get("no_credit", 0) for header in ledgers.values()) == 50
    assert sum(header.backlog for header in ledgers.values()) == 0


def test_what_messages_are_asked_to_be(router: StandIn, run: Any) -> None:
    """Durability, priority, time to live and size arrive as configured, at any receiver."""
    connection = BlockingConnection(f"amqp://127.0.0.1:{router.port}", timeout=10)
    receiver = connection.create_receiver("closest/asked", credit=5)
    run(
        _config(router, "closest/asked", durable=True, priority=7, ttl="5s", size="100B", count=3),
        receive=False,
    )
    message = receiver.receive(timeout=10)
    receiver.accept()
    assert (message.durable, message.priority, message.ttl) == (True, 7, 5.0)
    assert len(message.body) == 100
    connection.close()
