"""What goes wrong, each as a row of the table: what it needs, and what it does to the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .deaths import forget, kill
from .parts import Link, Router
from .plans import Needs
from .running import Running


def no_credit(run: Running) -> None:
    """The receiver takes nothing for a while."""
    _stall(run, run.last_links(), run.seconds(15, 25))


def _stall(run: Running, links: list[Link], seconds: float) -> None:
    for link in links:
        link.stalled, link.stalled_since_ns = True, run.network.now_ns

    def undo() -> None:
        for link in links:
            link.stalled = False
            run.network.pump(link)

    run.later(seconds, undo)


def detached(run: Running) -> None:
    """It may be back before the next poll: addresses that were made anew then show no sign of it."""
    run.receiver.detach()
    run.later(run.seconds(*run.network.rng.choice(((1, 2), (5, 20)))), run.receiver.attach)


def stalled_link(run: Running) -> None:
    way = run.first_way()
    link = run.network.routers["A"].towards[way.beyond("A")]
    _stall(run, [link], run.seconds(2, 3))


def slow_consumer(run: Running) -> None:
    links, sender = run.last_links(), run.senders["east-west"]
    for link in links:
        link.pace_ns = sender.interval_ns * 5 // 4

    def undo() -> None:
        for link in links:
            link.pace_ns = 0
            run.network.pump(link)

    run.later(20, undo)


def full(run: Running) -> None:
    broker, address = run.queue_of()
    broker.full.add(address)
    run.later(run.seconds(5, 20), lambda: broker.full.discard(address))


def unrouted(run: Running) -> None:
    broker, address = run.queue_of()
    broker.absent.add(address)
    run.later(run.seconds(5, 20), lambda: broker.absent.discard(address))


def no_consumer(run: Running) -> None:
    """Nothing takes from the queue, for longer than messages live."""
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True

    def undo() -> None:
        queue.paused = False
        queue.pump()

    run.later(run.seconds(70, 85), undo)


def purged(run: Running) -> None:
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True

    def undo() -> None:
        queue.purge()
        queue.paused = False

    run.later(run.seconds(5, 15), undo)


def dead_lettered(run: Running) -> None:
    run.receiver.rejects = True

    def undo() -> None:
        run.receiver.rejects = False

    run.later(run.seconds(5, 15), undo)


def broker_killed(run: Running) -> None:
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True  # so that it holds something

    def kill() -> None:
        broker.kill()
        run.later(run.seconds(5, 10), broker.start)

    run.later(4, kill)


def middle_killed(run: Running) -> None:
    kill(run, run.middle())


def receivers_router_killed(run: Running) -> None:
    assert isinstance(run.receiver.at, Router)
    kill(run, run.receiver.at)


def link_cut(run: Running) -> None:
    """A link is cut; the routers take the dear way round until it is back."""
    network, way = run.network, run.first_way()
    way.cut = True

    def noticed() -> None:
        forget(run.network, way)
        network.learn()

    def again() -> None:
        network.connect(way)
        network.learn()

    silent = network.rng.choice((0.5, 3.0, 8.0))
    run.later(silent, noticed)
    run.later(silent + run.seconds(5, 30), again)


def lossy_way(run: Running) -> None:
    """A part of what goes along a way is lost there, and no router counts it."""
    way = run.first_way()
    way.loses = 0.1

    def undo() -> None:
        way.loses = 0.0

    run.later(run.seconds(10, 30), undo)


def unwatched(run: Running) -> None:
    """The receiver's probe dies and starts again: nobody knows what came meanwhile."""
    receiver, start_ns = run.receiver, run.network.now_ns
    receiver.detach()

    def undo() -> None:
        receiver.away.append((start_ns, run.network.now_ns))
        receiver.attach()

    run.later(run.seconds(5, 15), undo)


ANY = Needs()


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault."""

    start: Callable[[Running], None]
    needs: Needs = ANY
    loses: bool = True


_BROKER = ("auto", "direct")
FAULTS: dict[str, Fault] = {
    "none": Fault(lambda run: None, Needs(via=("", "auto", "direct")), loses=False),  # noqa: ARG005
    "no_credit": Fault(no_credit, Needs(presettled=True)),
    "released": Fault(detached, Needs(presettled=False)),
    "no_route": Fault(detached, Needs(presettled=True)),
    "rejected": Fault(full, Needs(presettled=False, via=_BROKER)),
    "no_consumer": Fault(no_consumer, Needs(via=_BROKER)),
    "purged": Fault(purged, Needs(via=_BROKER)),
    "dead_lettered": Fault(dead_lettered, Needs(via=("direct",))),
    "unrouted": Fault(unrouted, Needs(via=_BROKER)),
    "broker_killed": Fault(broker_killed, Needs(via=("direct",))),
    "middle_killed": Fault(middle_killed, Needs(shape="line", routers=3)),
    "middle_killed_in_ring": Fault(middle_killed, Needs(shape="ring")),
    "receivers_router_killed": Fault(receivers_router_killed, Needs(routers=3)),
    "link_cut": Fault(link_cut, Needs(shape="ring")),
    "lossy_way": Fault(lossy_way, Needs(presettled=True, routers=3)),
    "stalled_link": Fault(stalled_link, loses=False),
    "slow_consumer": Fault(slow_consumer, loses=False),
    "unwatched": Fault(unwatched, Needs(presettled=True), loses=False),
}
