"""What goes wrong, each as a row of the table: what it needs, and what it does to the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .broker import Broker
from .ends import Receiver, Sender
from .network import Network
from .parts import SECOND, Link, Router, Way
from .plans import Needs, Plan
from .polls import Collector


@dataclass(eq=False)
class Running:
    """A network that runs, as faults get hold of it."""

    plan: Plan
    network: Network
    senders: dict[str, Sender]
    receivers: dict[str, list[Receiver]]
    collectors: list[Collector] = field(default_factory=list)
    broker: Broker | None = None

    @property
    def receiver(self) -> Receiver:
        return self.receivers["east-west"][0]

    def queue_of(self) -> tuple[Broker, str]:
        assert self.broker is not None
        return self.broker, "inflight.orders"

    def last_link(self) -> Link:
        assert self.receiver.link is not None
        return self.receiver.link

    def middle(self) -> Router:
        """A router between the sender and the receiver."""
        return self.network.routers["B"]

    def first_way(self) -> Way:
        start = self.network.routers["A"]
        hop = start.next_hop[self.receiver.at.name]
        return next(way for way in self.network.ways if {way.one, way.other} == {"A", hop})


def _for(run: Running, seconds: float, undo: Callable[[], None]) -> None:
    run.network.after(int(seconds * SECOND), undo)


def _seconds(run: Running, least: int, most: int) -> float:
    return run.network.rng.uniform(least, most)


def no_credit(run: Running) -> None:
    """The receiver takes nothing for a while."""
    link = run.last_link()
    _stall(run, link, _seconds(run, 15, 25))


def _stall(run: Running, link: Link, seconds: float) -> None:
    link.stalled, link.stalled_since_ns = True, run.network.now_ns

    def undo() -> None:
        link.stalled = False
        run.network.pump(link)

    _for(run, seconds, undo)


def detached(run: Running) -> None:
    run.receiver.detach()
    _for(run, _seconds(run, 5, 20), run.receiver.attach)


def stalled_link(run: Running) -> None:
    way = run.first_way()
    link = run.network.routers["A"].towards[way.beyond("A")]
    _stall(run, link, _seconds(run, 2, 3))


def slow_consumer(run: Running) -> None:
    link, sender = run.last_link(), run.senders["east-west"]
    link.pace_ns = sender.interval_ns * 5 // 4

    def undo() -> None:
        link.pace_ns = 0
        run.network.pump(link)

    _for(run, 20, undo)


def full(run: Running) -> None:
    broker, address = run.queue_of()
    broker.full.add(address)
    _for(run, _seconds(run, 5, 20), lambda: broker.full.discard(address))


def unrouted(run: Running) -> None:
    broker, address = run.queue_of()
    broker.absent.add(address)
    _for(run, _seconds(run, 5, 20), lambda: broker.absent.discard(address))


def no_consumer(run: Running) -> None:
    """Nothing takes from the queue, for longer than messages live."""
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True

    def undo() -> None:
        queue.paused = False
        queue.pump()

    _for(run, _seconds(run, 70, 85), undo)


def purged(run: Running) -> None:
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True

    def undo() -> None:
        queue.purge()
        queue.paused = False

    _for(run, _seconds(run, 5, 15), undo)


def dead_lettered(run: Running) -> None:
    run.receiver.rejects = True

    def undo() -> None:
        run.receiver.rejects = False

    _for(run, _seconds(run, 5, 15), undo)


def broker_killed(run: Running) -> None:
    broker, address = run.queue_of()
    queue = broker.queue(address)
    queue.paused = True  # so that it holds something

    def kill() -> None:
        broker.kill()
        _for(run, _seconds(run, 5, 10), broker.start)

    _for(run, 4, kill)


def kill(run: Running, router: Router) -> None:
    """Its neighbours notice after a while; it comes back as another instance."""
    network = run.network
    router.alive = False
    ends: list[Sender | Receiver] = [
        end
        for end in (*run.senders.values(), *(one for each in run.receivers.values() for one in each))
        if end.at is router
    ]
    for end in ends:
        if isinstance(end, Receiver):
            end.detached_ns = network.now_ns
    mine = [way for way in network.ways if router.name in {way.one, way.other} and not way.cut]
    for way in mine:
        way.cut = True
    for link in list(router.links.values()):
        for message in [*link.queue, *(sorted(link.unsettled, key=lambda m: m.number))]:
            network.lose(message, (router.name, "gone"), (link.hop, "gone"))
        link.dead = True
    router.links.clear()
    router.entities.clear()
    router.subscribers.clear()
    router.sources.clear()
    router.towards.clear()
    if run.broker is not None and run.broker.router is router:
        run.broker.queue("inflight.orders").give_back()

    def noticed() -> None:
        for way in mine:
            forget(run, way)
        network.learn()

    def again() -> None:
        router.alive, router.identity, router.dropped = True, 0, 0
        router.instance = network.now_ns // SECOND
        for way in mine:
            network.connect(way)
        network.learn()
        if run.broker is not None and run.broker.router is router:
            run.broker.bind(router, "inflight.orders")
        for end in ends:
            network.after(int(_seconds(run, 1, 3) * SECOND), end.attach)

    silent = network.rng.choice((0.2, 3.0, 8.0))
    _for(run, silent, noticed)
    _for(run, silent + _seconds(run, 5, 15), again)


def forget(run: Running, way: Way) -> None:
    """The routers of a way notice that it is dead."""
    way.known = False
    for name in (way.one, way.other):
        router = run.network.routers[name]
        for link in [link for link in router.links.values() if link.way is way]:
            run.network.end_link(link)
        router.towards.pop(way.beyond(name), None)


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
        forget(run, way)
        network.learn()

    def again() -> None:
        network.connect(way)
        network.learn()

    silent = network.rng.choice((0.5, 3.0, 8.0))
    _for(run, silent, noticed)
    _for(run, silent + _seconds(run, 5, 30), again)


def unwatched(run: Running) -> None:
    """The receiver's probe dies and starts again: nobody knows what came meanwhile."""
    receiver, start_ns = run.receiver, run.network.now_ns
    receiver.detach()

    def undo() -> None:
        receiver.away.append((start_ns, run.network.now_ns))
        receiver.attach()

    _for(run, _seconds(run, 5, 15), undo)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault."""

    start: Callable[[Running], None]
    needs: Needs = Needs()
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
    "stalled_link": Fault(stalled_link, loses=False),
    "slow_consumer": Fault(slow_consumer, loses=False),
    "unwatched": Fault(unwatched, Needs(presettled=True), loses=False),
}
