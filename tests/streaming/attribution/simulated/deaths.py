"""Routers and links that die, and what is noticed of it when."""

from __future__ import annotations

from .ends import Receiver, Sender
from .network import Network
from .parts import SECOND, Router, Way
from .running import Running

SILENCES_SECONDS = (0.2, 3.0, 8.0)  # until neighbours notice: a process that ended, a host that is off


def kill(run: Running, router: Router) -> None:
    """End a router; it comes back as another instance."""
    network = run.network
    mine = [way for way in network.ways if router.name in {way.one, way.other} and not way.cut]
    ends = _detached(run, router)
    for way in mine:
        way.cut = True
    _clear(network, router)
    bound = run.broker is not None and run.broker.router is router
    if run.broker is not None and bound:
        run.broker.queue("inflight.orders").give_back()

    def noticed() -> None:
        for way in mine:
            forget(network, way)
        network.learn()

    def again() -> None:
        router.alive, router.identity, router.dropped = True, 0, 0
        router.instance = network.now_ns // SECOND
        for way in mine:
            network.connect(way)
        network.learn()
        if run.broker is not None and bound:
            run.broker.bind(router, "inflight.orders")
        for end in ends:
            run.later(run.seconds(1, 3), end.attach)

    silent = network.rng.choice(SILENCES_SECONDS)
    run.later(silent, noticed)
    run.later(silent + run.seconds(*run.network.rng.choice(((1, 2), (5, 15)))), again)  # or between two polls


def _detached(run: Running, router: Router) -> list[Sender | Receiver]:
    """Return the ends that are attached to it, which are no more."""
    receivers = [one for each in run.receivers.values() for one in each if one.at is router]
    for receiver in receivers:
        receiver.detached_ns = run.network.now_ns
    return [*receivers, *(sender for sender in run.senders.values() if sender.at is router)]


def _clear(network: Network, router: Router) -> None:
    """All that it held and knew is gone."""
    router.alive = False
    for link in list(router.links.values()):
        for message in [*link.queue, *(sorted(link.unsettled, key=lambda m: (m.path, m.number)))]:
            network.lose(message, (router.name, "gone"), (link.hop, "gone"))
        link.dead = True
    for table in (router.links, router.entities, router.subscribers, router.sources, router.towards):
        table.clear()  # type: ignore[attr-defined] # tables all


def forget(network: Network, way: Way) -> None:
    """The routers of a way notice that it is dead."""
    way.known = False
    for name in (way.one, way.other):
        router = network.routers[name]
        for link in [link for link in router.links.values() if link.way is way]:
            network.end_link(link)
        router.towards.pop(way.beyond(name), None)
