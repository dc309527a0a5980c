"""Probes through a real broker's queue: nothing is lost by waiting there, and queues do not grow for ever."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from helpers import wait_until
from proton.utils import BlockingConnection

from collectors.contract.records import FLAG_REDELIVERED
from collectors.probe.measure import guard
from deploy.embedded import http

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.e2e
_numbers = itertools.count()


def _config(artemis: Artemis, address: str, **settings: Any) -> str:
    shown = ", ".join(f"{name}: {json.dumps(value)}" for name, value in settings.items())
    return f"""
endpoints: {{a: {{url: "{artemis.amqp_url}"}}}}
defaults: {{window: 1s, settle: 2s}}
paths: {{p: {{from: a, to: a, address: {address}, {shown}}}}}
"""


@pytest.fixture
def address() -> str:
    """A queue that no other test uses."""
    return f"inflight.test.{next(_numbers)}"


@pytest.mark.parametrize(
    "settings",
    [
        {"durable": True},
        {"presettled": True},
        {"size": "10kB", "credit": 10},
        {"senders": 2, "receivers": 3},
        {"size": "64B-2kB", "arrivals": "poisson"},
    ],
    ids=str,
)
def test_all_arrive(artemis: Artemis, run: Any, address: str, settings: dict[str, Any]) -> None:
    """Every message sent is received once."""
    measured = run(_config(artemis, address, rate="200/s", count=150, **settings))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 150, "received": 150, "due": 150}


def test_rate_zero_is_as_fast_as_credit_allows(artemis: Artemis, run: Any, address: str) -> None:
    """Unpaced: all that was asked for, in order, each due when it was sent."""
    measured = run(_config(artemis, address, rate=0, count=5_000, credit=500))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 5_000, "received": 5_000, "due": 5_000}


def test_redelivered(artemis: Artemis, run: Any, address: str) -> None:
    """A message that somebody took and gave back comes flagged, and counts once."""
    text = _config(artemis, address, rate="100/s", count=10)
    sending = run(text, receive=False)
    sending.wait_finished()
    other = BlockingConnection(artemis.amqp_url, timeout=10)
    taker = other.create_receiver(address, credit=1)
    taker.receive(timeout=10)
    taker.fetcher.unsettled[0].local.failed = True
    taker.release(delivered=True)
    other.close()
    receiving = run(text, send=False, shared_with=sending)
    wait_until(lambda: receiving.received >= 10, 20, "all messages")
    receiving.finish()
    sending.finish()
    flags = [flag for r in sending.records if r.received is not None for flag in r.received.flags.tolist()]
    assert sum(1 for flag in flags if flag & FLAG_REDELIVERED) == 1
    total = sending.total("p")
    assert (total["received"], total["redelivered"]) == (10, 1)


def test_dead_receiver_does_not_fill_a_durable_queue(
    artemis: Artemis, run: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nobody receiving, the queue grows until the guard, and then by a trickle only."""
    monkeypatch.setattr(guard, "SILENT_NS", 1_000_000_000)
    text = _config(artemis, address, rate="100/s", durable=True)
    sending = run(text, receive=False)
    receiving = run(text, send=False, shared_with=sending)
    sender = sending.prober.senders[0].sender
    wait_until(lambda: receiving.received > 20, 20, "messages")
    wait_until(lambda: sender.backlog._guard._reports, 20, "the receiver to be heard of")  # noqa: SLF001 -- its only trace
    receiving.finish()
    received = receiving.received
    wait_until(lambda: sender.backlog.guard_problem, 20, "the guard")
    stopped = sender.sent
    wait_until(lambda: sender.backlog.unsent > 200, 20, "more to be due")
    assert sender.sent - stopped <= 4
    sending.finish()
    other = BlockingConnection(artemis.amqp_url, timeout=10)
    queue = other.create_receiver(address, credit=1_000)
    for _ in range(sender.sent - received):
        queue.receive(timeout=10)
        queue.accept()
    other.close()
    # Heard of every 2 s, silent for 1 s: what was due in that time, and the trickle.
    assert sender.sent - received < 600


def test_durable_subscription(artemis: Artemis, run: Any) -> None:
    """What is sent while the subscriber is away waits for it, also over a new start of the probe."""
    text = _config(artemis, f"events.{next(_numbers)}", rate="100/s", count=20, subscription="watch")
    first = run(text, send=False)
    wait_until(lambda: first.prober.not_ready() is None, 20, "the subscription")
    first.finish()
    sending = run(text, receive=False)
    sending.wait_finished()
    again = run(text, send=False, shared_with=sending)
    wait_until(lambda: again.received == 20, 20, "what waited")
    again.finish()
    sending.finish()
    assert again.received == 20


def test_selector(artemis: Artemis, run: Any, address: str) -> None:
    """A receiver with a selector gets what it selects; here, messages of the default priority."""
    text = _config(artemis, address, rate="100/s", count=20, selector="JMSPriority = 4")
    measured = run(text)
    measured.wait_finished()
    measured.finish()
    assert measured.total("p")["received"] == 20


def test_topic_and_a_queue_of_it(artemis: Artemis, run: Any) -> None:
    """What goes to a topic is received from one of its queues, by `address::queue`."""
    topic = f"events.{next(_numbers)}"
    text = _config(artemis, topic, rate="100/s", count=20, receive_address=f"{topic}::watched")
    measured = run(text)
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 20, "received": 20, "due": 20}


def test_link_that_the_peer_detaches(artemis: Artemis, run: Any, address: str) -> None:
    """A queue deleted under its receiver: the link comes back, the stream goes on, all is accounted for."""
    measured = run(_config(artemis, address, rate="200/s"))
    wait_until(lambda: measured.received >= 100, 20, "messages")
    _delete_queue(artemis, address)
    wait_until(measured.prober.not_ready, 20, "the receiver's link to be gone", every_seconds=0.01)
    problem = measured.prober.receivers[0].problem
    wait_until(lambda: measured.prober.not_ready() is None, 20, "the link to be back")
    before = measured.received
    wait_until(lambda: measured.received >= before + 100, 20, "messages again")
    measured.finish()
    total = measured.total("p")
    assert total["sent"] == total["received"] + total["lost"] + total["refused"] + total["unobserved"]
    assert total["received"] >= 200
    assert "amqp:" in problem
    spans = [s for r in measured.records if r.header.role == "receiver" for s in r.header.detached]
    # One before the first attach, and this one; each may be told in pieces, a record after the other.
    assert sum(one.to_ns < other.from_ns for one, other in itertools.pairwise(spans)) == 1
    assert len({r.header.run for r in measured.records if r.header.role == "sender"}) == 1


def _delete_queue(artemis: Artemis, queue: str) -> None:
    question = {
        "type": "exec",
        "mbean": f'org.apache.activemq.artemis:broker="{artemis.name}"',
        "operation": "destroyQueue(java.lang.String,boolean)",
        "arguments": [queue, True],
    }
    password = artemis.password_file.read_text().strip()
    reply = http.post_json(
        artemis.jolokia_url, question, user=artemis.user, password=password, origin=artemis.origin
    )
    assert reply["status"] == 200, reply
