"""Auto-links to a real Artemis: an address that leads through a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis

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

    def accepted() -> dict[str, int]:
        return {
            row["owningAddr"]: row["acceptedCount"]
            for row in management.rows("org.apache.qpid.dispatch.router.link")
            if (row["owningAddr"] or "").endswith("inflight.standin")
        }

    both = {"M0inflight.standin": 40, "M1inflight.standin": 40}
    clients.wait(lambda: accepted() == both, f"all accepted both ways, not {accepted()}")


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


def _through(standin: Callable[..., StandIn], name: str, queue: StandIn, *options: str) -> StandIn:
    return standin(name, "--auto-link", f"inflight.q=127.0.0.1:{queue.port}", *options)


def _active(management: Requester) -> bool:
    return [row["operStatus"] for row in management.rows(_AUTO)] == ["active"] * 2


def test_auto_links_come_back_with_the_broker(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """A broker (here another router, as a queue that keeps nothing) dies and returns: links too."""
    queue = standin("Q")
    router = _through(standin, "A", queue)
    management = requester(router.port)
    clients.wait(lambda: _active(management), "auto-links")
    receiver = clients.receiver(router.port, "inflight.q")
    sender = clients.sender(router.port, "inflight.q")
    sender.send(5)
    receiver.got(5)
    queue.tell(do="die")
    clients.wait(lambda: not _active(management), "loss of the auto-links")
    queue.process.wait(5)
    queue.start()
    clients.wait(lambda: _active(management), "auto-links again", 10)
    sender.send(5)
    receiver.got(10)
    assert sender.settled(10)[-5:] == [ACCEPTED] * 5


def test_receivers_move_behind_a_waypoint_that_is_learned_later(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """A's receiver was there before B told that the address leads through a queue."""
    queue = standin("Q")
    a = standin("A")
    receiver = clients.receiver(a.port, "inflight.q")
    b = _through(standin, "B", queue, "--connect", f"127.0.0.1:{a.port}")
    management = requester(b.port)
    clients.wait(lambda: _active(management), "auto-links")
    rows = requester(a.port)
    clients.wait(
        lambda: any(
            row["key"] == "M1inflight.q" and row["subscriberCount"] == 1
            for row in rows.rows("org.apache.qpid.dispatch.router.address")
        ),
        "the receiver behind the waypoint",
    )
    sender = clients.sender(a.port, "inflight.q")
    sender.send(3)
    receiver.got(3)
    entries = {
        row["owningAddr"]: row["deliveryCount"]
        for row in management.rows("org.apache.qpid.dispatch.router.link")
        if (row["owningAddr"] or "").endswith("inflight.q")
    }
    assert entries == {"M0inflight.q": 3, "M1inflight.q": 3}
