"""Messages through a real line A - B - C of stand-ins, with real proton clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import proton
import pytest
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

pytestmark = pytest.mark.slow

_LINK = "org.apache.qpid.dispatch.router.link"
ACCEPTED, REJECTED, RELEASED, MODIFIED = (
    Delivery.ACCEPTED,
    Delivery.REJECTED,
    Delivery.RELEASED,
    Delivery.MODIFIED,
)


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_messages_arrive_in_order_and_are_acknowledged(
    clients: Clients, line: list[StandIn], address: str, hops: int
) -> None:
    """Unchanged but for the route on them, over any number of hops."""
    receiver = clients.receiver(line[hops].port, address)
    sender = clients.sender(line[0].port, address)
    sender.send(50, subject="s")
    messages = receiver.got(50)
    assert [(m.id, m.body, m.subject) for m in messages] == [(n, f"body {n}", "s") for n in range(50)]
    assert sender.settled(50) == [ACCEPTED] * 50
    assert messages[0].annotations["x-opt-qd.ingress"] == "0/A.stand-in"
    trace = [f"0/{name}.stand-in" for name in "ABC"[: hops + 1]]
    assert messages[0].annotations["x-opt-qd.trace"] == trace


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED, RELEASED, MODIFIED])
def test_outcomes_come_back_as_they_were_given(
    clients: Clients, line: list[StandIn], address: str, outcome: int
) -> None:
    """The sender hears what the receiver said, two hops away."""
    clients.receiver(line[2].port, address, outcome=outcome)
    sender = clients.sender(line[0].port, address)
    sender.send(3)
    assert sender.settled(3) == [outcome] * 3


def test_reason_of_a_rejection_comes_back(clients: Clients, line: list[StandIn], address: str) -> None:
    """Condition and flags of an outcome pass through, not only its name."""
    receiver = clients.receiver(line[2].port, address, outcome=None)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    delivery = sender.link.send(proton.Message(body="x"))
    receiver.got(1)
    receiver.deliveries[0].local.condition = proton.Condition("app:wrong", "not for me")
    receiver.deliveries[0].update(REJECTED)
    clients.wait(lambda: delivery.remote_state == REJECTED, "rejection")
    assert delivery.remote.condition == proton.Condition("app:wrong", "not for me")


def test_presettled_stays_presettled(clients: Clients, line: list[StandIn], address: str) -> None:
    """Nobody on the way asks for an acknowledgement."""
    receiver = clients.receiver(line[2].port, address)
    clients.sender(line[0].port, address, presettled=True).send(20)
    receiver.got(20)
    assert receiver.presettled == [True] * 20


def test_sender_without_consumer_has_no_credit(clients: Clients, line: list[StandIn], address: str) -> None:
    """Credit comes with the consumer, and only as much as it has."""
    sender = clients.sender(line[0].port, address)
    clients.pump(0.3)
    assert sender.link.credit == 0
    clients.receiver(line[2].port, address, credit=7)
    clients.wait(lambda: sender.link.credit, "credit")
    clients.pump(0.2)
    assert sender.link.credit == 7


def test_credit_is_the_consumers_all_the_way(clients: Clients, line: list[StandIn], address: str) -> None:
    """What the last consumer does not ask for stays with the sender; nothing is kept on the way."""
    receiver = clients.receiver(line[2].port, address, credit=5)
    sender = clients.sender(line[0].port, address)
    sender.send(5)
    receiver.got(5)
    clients.pump(0.3)
    assert sender.link.credit == 0
    receiver.link.flow(3)
    sender.send(3)
    assert len(receiver.got(8)) == 8


def test_consumers_share_by_credit(clients: Clients, line: list[StandIn]) -> None:
    """Balanced: each takes its part, the one without credit none, and all arrive."""
    address = "work/shared"
    one = clients.receiver(line[0].port, address, credit=100)
    other = clients.receiver(line[0].port, address, credit=100)
    none = clients.receiver(line[0].port, address, credit=0)
    sender = clients.sender(line[0].port, address)
    sender.send(60)
    sender.settled(60)
    assert len(one.messages) + len(other.messages) == 60
    assert min(len(one.messages), len(other.messages)) >= 20
    assert none.messages == []


def test_closest_prefers_the_consumer_here(clients: Clients, line: list[StandIn], address: str) -> None:
    """As long as there is one here, nothing goes to the neighbour."""
    near = clients.receiver(line[0].port, address)
    far = clients.receiver(line[1].port, address)
    sender = clients.sender(line[0].port, address)
    sender.send(10)
    near.got(10)
    clients.detach(near)
    sender.send(10)
    far.got(10)
    assert sender.settled(20) == [ACCEPTED] * 20


def test_multicast_reaches_every_consumer_once(
    clients: Clients, line: list[StandIn], requester: Callable[[int], Requester]
) -> None:
    """Two at one router, one at another, none lost, none doubled."""
    address = "multicast/all"
    receivers = [clients.receiver(line[n].port, address) for n in (0, 1, 2, 2)]
    requester(line[0].port).knows("M0" + address, here=1, elsewhere=2)
    sender = clients.sender(line[0].port, address)
    sender.send(20)
    for receiver in receivers:
        receiver.got(20)
        assert receiver.ids() == list(range(20))
    assert sender.settled(20) == [ACCEPTED] * 20


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((ACCEPTED, RELEASED), ACCEPTED),
        ((ACCEPTED, REJECTED), REJECTED),
        ((MODIFIED, RELEASED), MODIFIED),
        ((RELEASED, RELEASED), RELEASED),
    ],
)
def test_strongest_outcome_of_a_multicast_wins(
    clients: Clients,
    line: list[StandIn],
    request: pytest.FixtureRequest,
    outcomes: tuple[int, int],
    expected: int,
    requester: Callable[[int], Requester],
) -> None:
    """Rejected before accepted before modified before released, as in real routers."""
    address = f"multicast/{request.node.name}"
    clients.receiver(line[0].port, address, outcome=outcomes[0])
    clients.receiver(line[2].port, address, outcome=outcomes[1])
    requester(line[0].port).knows("M0" + address, here=1, elsewhere=1)
    sender = clients.sender(line[0].port, address)
    sender.send(2)
    assert sender.settled(2) == [expected] * 2


def test_multicast_to_nobody_is_released(clients: Clients, line: list[StandIn]) -> None:
    """Real routers give credit for multicast at once, and release what nobody takes."""
    sender = clients.sender(line[0].port, "multicast/nobody")
    sender.send(2)
    assert sender.settled(2) == [RELEASED] * 2


def test_presettled_excess_is_dropped_and_counted_where_it_waits(
    clients: Clients, line: list[StandIn], address: str, requester: Callable[[int], Requester]
) -> None:
    """The books balance at the consumer's link: sent = delivered + dropped + undelivered."""
    receiver = clients.receiver(line[2].port, address, credit=50)
    management = requester(line[0].port)
    nodes = [f"amqp:/_topo/0/{name}.stand-in/$management" for name in "ABC"]
    before = sum(row["droppedPresettledCount"] for node in nodes for row in management.rows(_LINK, node))
    clients.sender(line[0].port, address, presettled=True).send(2000)
    receiver.got(50)
    link: dict[str, Any] = {}

    def balanced() -> bool:
        rows = [row for node in nodes for row in management.rows(_LINK, node)]
        link.update(next(r for r in rows if r["owningAddr"] == "M0" + address and r["linkDir"] == "out"))
        dropped = sum(row["droppedPresettledCount"] for row in rows) - before
        return bool(link["deliveryCount"] + dropped + link["undeliveredCount"] == 2000)

    clients.wait(balanced, "balanced books", 20)
    assert link["deliveryCount"] == 50
    assert link["undeliveredCount"] == 250
    assert link["droppedPresettledCount"] > 0


def test_unsent_messages_of_a_leaving_consumer_go_to_another(clients: Clients, line: list[StandIn]) -> None:
    """What waited at the link that went is sent elsewhere, not lost."""
    address = "work/leaving"
    first = clients.receiver(line[0].port, address, credit=10, outcome=None)
    one = clients.sender(line[0].port, address)
    other = clients.sender(line[0].port, address)
    clients.wait(lambda: one.link.credit == 10 and other.link.credit == 10, "credit")
    one.send(10)
    first.got(10)
    other.send(10)
    clients.pump(0.2)
    assert other.outcomes == []
    second = clients.receiver(line[0].port, address, credit=100)
    clients.detach(first)
    assert other.settled(10) == [ACCEPTED] * 10
    assert len(second.messages) == 10
    assert one.settled(10) == [MODIFIED] * 10


def test_unsent_messages_are_released_when_nobody_is_left(
    clients: Clients, line: list[StandIn], address: str
) -> None:
    """Sent and unsettled: modified; never sent: released."""
    receiver = clients.receiver(line[2].port, address, credit=5, outcome=None)
    one = clients.sender(line[0].port, address)
    other = clients.sender(line[0].port, address)
    clients.wait(lambda: one.link.credit == 5 and other.link.credit == 5, "credit")
    one.send(5)
    receiver.got(5)
    other.send(5)
    clients.pump(0.2)
    clients.detach(receiver)
    assert one.settled(5) == [MODIFIED] * 5
    assert other.settled(5) == [RELEASED] * 5


def test_messages_outlive_their_sender(clients: Clients, line: list[StandIn], address: str) -> None:
    """A message that waits for credit is delivered though its sender has gone."""
    receiver = clients.receiver(line[2].port, address, credit=5)
    sender = clients.sender(line[0].port, address)
    other = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit == 5 and other.link.credit == 5, "credit")
    other.send(5)
    receiver.got(5)
    sender.send(5)
    clients.pump(0.2)
    clients.detach(sender)
    clients.pump(0.2)
    receiver.link.flow(10)
    assert len(receiver.got(10)) == 10


def test_dynamic_addresses_are_answered_by_anonymous_senders(clients: Clients, line: list[StandIn]) -> None:
    """A reply finds its way back over the mesh, as an echo does."""
    replies = clients.receiver(line[0].port, None, dynamic=True)
    reply_to = replies.link.remote_source.address
    assert reply_to.startswith("amqp:/_topo/0/A.stand-in/temp.")
    clients.sender(line[2].port, None).send(3, address=reply_to)
    assert [m.address for m in replies.got(3)] == [reply_to] * 3


def test_dynamic_addresses_are_answered_by_named_senders(clients: Clients, line: list[StandIn]) -> None:
    """The same by a sender attached to the reply address."""
    replies = clients.receiver(line[0].port, None, dynamic=True)
    sender = clients.sender(line[2].port, replies.link.remote_source.address)
    sender.send(3)
    replies.got(3)
    assert sender.settled(3) == [ACCEPTED] * 3


def test_anonymous_message_to_nowhere_comes_back(clients: Clients, line: list[StandIn], address: str) -> None:
    """No consumer: released. No address: rejected."""
    sender = clients.sender(line[0].port, None)
    sender.send(1, address=address)
    sender.send(1)
    assert sorted(sender.settled(2)) == sorted([RELEASED, REJECTED])


def test_large_messages_pass(clients: Clients, line: list[StandIn], address: str) -> None:
    """Far more than a frame, and more than a socket takes at once."""
    receiver = clients.receiver(line[2].port, address)
    sender = clients.sender(line[0].port, address)
    body = bytes(range(256)) * 8000
    sender.send(3, body=body)
    assert [bytes(m.body) == body for m in receiver.got(3)] == [True] * 3


def test_receiver_that_wants_presettled_gets_it(clients: Clients, line: list[StandIn], address: str) -> None:
    """A receiver attached at-most-once gets settled deliveries; the sender hears accepted."""
    end = clients.receiver(line[2].port, address, presettled=True)
    sender = clients.sender(line[0].port, address)
    sender.send(5)
    end.got(5)
    assert end.presettled == [True] * 5
    assert sender.settled(5) == [ACCEPTED] * 5


def test_transactions_and_nameless_receivers_are_refused(clients: Clients, line: list[StandIn]) -> None:
    """What a router cannot do is refused with a condition, not ignored."""
    link = clients.container.create_receiver(clients.connect(line[0].port), None, name="nameless")
    clients.wait(lambda: link in clients.detached, "refusal")
    assert link.remote_condition.name == "qd:no-route-to-dest"


def test_drain_is_answered(clients: Clients, line: list[StandIn], address: str) -> None:
    """A receiver that drains gets its credit back though nothing is there."""
    receiver = clients.receiver(line[0].port, address, credit=10)
    receiver.link.drain(0)
    clients.wait(lambda: receiver.link.credit == 0, "answer to the drain")


def test_a_message_need_not_wait_for_one_consumer_when_another_has_credit(
    clients: Clients, line: list[StandIn], requester: Callable[[int], Requester]
) -> None:
    """More senders than credit: what was put in one consumer's queue goes to whoever asks first."""
    address = "work/relieved"
    slow = clients.receiver(line[0].port, address, credit=4, outcome=None)
    one, other = (clients.sender(line[0].port, address) for _ in range(2))
    clients.wait(lambda: one.link.credit == 4 and other.link.credit == 4, "credit")
    one.send(4)
    slow.got(4)
    other.send(4)
    quick = clients.receiver(line[0].port, address, credit=50)
    assert len(quick.got(4)) == 4
    assert other.settled(4) == [ACCEPTED] * 4
    rows = requester(line[0].port).rows("org.apache.qpid.dispatch.router.address")
    row = next(row for row in rows if row["key"] == "M0" + address)
    assert (row["deliveriesIngress"], row["deliveriesEgress"]) == (8, 8)


def test_a_sender_that_settles_first_leaves_nothing_behind(
    clients: Clients, line: list[StandIn], address: str, requester: Callable[[int], Requester]
) -> None:
    """Sent unsettled, settled by the sender: delivered, and open at no router."""
    receiver = clients.receiver(line[2].port, address, outcome=None)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    delivery = sender.link.send(proton.Message(body="x"))
    receiver.got(1)
    delivery.settle()
    management = requester(line[0].port)

    def settled() -> bool:
        nodes = [f"amqp:/_topo/0/{name}.stand-in/$management" for name in "ABC"]
        return not sum(row["unsettledCount"] for node in nodes for row in management.rows(_LINK, node))

    clients.wait(settled, "end of all unsettled deliveries")


def test_a_receiver_may_settle_second(clients: Clients, line: list[StandIn], address: str) -> None:
    """Its outcome goes to the sender first, whose settlement comes back to it."""
    receiver = clients.receiver(line[2].port, address, outcome=None)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    delivery = sender.link.send(proton.Message(body="x"))
    receiver.got(1)
    receiver.deliveries[0].update(ACCEPTED)
    clients.wait(lambda: delivery.remote_state == ACCEPTED, "outcome at the sender")
    assert not receiver.deliveries[0].settled
    delivery.settle()
    clients.wait(lambda: receiver.deliveries[0].settled, "settlement at the receiver")
