"""Auto-links to a real Artemis: an address that leads through a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

if TYPE_CHECKING:
    from deploy.embedded.artemis import Artemis

ACCEPTED = Delivery.ACCEPTED
_AUTO = "org.apache.qpid.dispatch.router.config.autoLink"


@pytest.fixture(scope="module")
def routers(artemis: Artemis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StandIn]]:
    """A - B, the broker by B; queues inflight.standin and inflight.backlog."""
    directory = tmp_path_factory.mktemp("broker")
    a = StandIn(directory, "A")
    place = f"127.0.0.1:{artemis.port}"
    b = StandIn(
        directory,
        "B",
        "--connect",
        f"127.0.0.1:{a.port}",
        "--auto-link",
        f"inflight.standin={place}",
        "--auto-link",
        f"inflight.backlog={place}",
    )
    yield [a, b]
    for one in (b, a):
        one.stop()


@pytest.fixture
def links_up(routers: list[StandIn], clients: Clients, requester: Callable[[int], Requester]) -> None:
    management = requester(routers[1].port)
    clients.wait(
        lambda: [row["operStatus"] for row in management.rows(_AUTO)] == ["active"] * 4, "auto-links", 10
    )


@pytest.mark.usefixtures("links_up")
def test_messages_go_through_the_queue(
    routers: list[StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """Sender and receiver at A, the queue behind B: in at phase 0, out at phase 1, all acknowledged."""
    receiver = clients.receiver(routers[0].port, "inflight.standin")
    sender = clients.sender(routers[0].port, "inflight.standin")
    sender.send(40)
    assert sender.settled(40) == [ACCEPTED] * 40
    receiver.got(40)
    assert receiver.ids() == list(range(40))
    management = requester(routers[1].port)
    links = management.rows("org.apache.qpid.dispatch.router.link")
    accepted = {
        row["owningAddr"]: row["acceptedCount"]
        for row in links
        if (row["owningAddr"] or "").endswith("inflight.standin")
    }
    assert accepted == {"M0inflight.standin": 40, "M1inflight.standin": 40}


@pytest.mark.usefixtures("links_up")
def test_a_queue_keeps_what_nobody_takes_yet(routers: list[StandIn], clients: Clients) -> None:
    """A backlog is no loss: it is accepted by the queue, and delivered to who comes later."""
    sender = clients.sender(routers[0].port, "inflight.backlog")
    sender.send(10)
    assert sender.settled(10) == [ACCEPTED] * 10
    receiver = clients.receiver(routers[0].port, "inflight.backlog", credit=4)
    receiver.got(4)
    clients.pump(0.2)
    assert len(receiver.messages) == 4
    receiver.link.flow(10)
    receiver.got(10)
    assert receiver.ids() == list(range(10))


@pytest.mark.usefixtures("links_up")
def test_route_of_the_last_leg_is_on_the_message(routers: list[StandIn], clients: Clients) -> None:
    """What comes out of the queue at B and leaves at A tells just that."""
    receiver = clients.receiver(routers[0].port, "inflight.standin")
    clients.sender(routers[1].port, "inflight.standin").send(1)
    assert receiver.got(1)[0].annotations["x-opt-qd.trace"] == ["0/B.stand-in", "0/A.stand-in"]
