"""The way of a path's messages: the routers and links that it may go over, and its queue."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final

from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows
from streaming.attribution.places import Place

_LONGEST: Final = 64
_TRACE: Final = ">"


@dataclass(slots=True)
class Route:
    """A graph: of several receivers or equal costs it is no line."""

    sources: list[str] = field(default_factory=list)  # routers that senders are attached to
    targets: list[str] = field(default_factory=list)  # routers that receivers, or the broker, are attached to
    stops: list[str] = field(default_factory=list)  # all routers, in the order of the way
    links: list[tuple[str, str]] = field(default_factory=list)
    broker: str | None = None
    queue: str = ""
    to_broker: list[str] = field(default_factory=list)  # routers that pass messages on to it

    @property
    def line(self) -> bool:
        """Whether messages have one way only."""
        ways = {one for one, _ in self.links}
        return len(self.sources) == 1 and len(ways) == len(self.links) and len(self.targets) <= 1


def find_route(network: Network, path: PathWindows, place: Place, from_ns: int) -> Route:
    """Return what is known of the way since `from_ns`; unknown stays unknown."""
    sent_to = place.sent_to
    received_from = sent_to if place.receive_address == place.address else (place.receive_address,)
    route = Route(broker=place.via, queue=_queue(network, place.via, place) if place.via else "")
    senders = [router for router, link in network.ends(sent_to, "in") if link.own]
    receivers = [router for router, link in network.ends(received_from, "out") if link.own]
    known = network.routers.keys()
    route.sources = _distinct(senders, [peer for peer in path.sender_peers if peer in known])
    route.targets = _distinct(receivers, [peer for peer in path.receiver_peers if peer in known])
    to_broker = [router for router, link in network.ends(sent_to, "out") if not link.own] if place.via else []
    route.to_broker = _distinct(to_broker)
    ways = [
        trace.split(_TRACE)[:_LONGEST]
        for trace, seen_ns in path.routes.items()
        if seen_ns >= from_ns and trace
    ]
    for source in route.sources:
        hosts = [
            host
            for address in sent_to
            for row in (network.routers[source].of_address(address) if source in known else ())
            for host in row.hosts
        ]
        for target in dict.fromkeys((*hosts, *to_broker, *(() if place.via else route.targets))):
            ways += [_next_hops(network, source, target)]
    if place.via:
        from_broker = [router for router, link in network.ends(received_from, "in") if not link.own]
        for source in dict.fromkeys(from_broker):
            ways += [_next_hops(network, source, target) for target in route.targets]
    _join(route, [way for way in ways if way])
    return route


def _queue(network: Network, via: str, place: Place) -> str:
    """Return the queue's name: of a fully qualified one, what comes behind the address.

    Routers without phases bring messages from a queue to another address than it has at the broker.
    """
    named = place.receive_address.partition("::")[2]
    names = (named,) if named else (place.receive_address, place.address.partition("::")[2] or place.address)
    broker = network.brokers.get(via)
    return next((name for name in names if broker is not None and name in broker.queues), names[0])


def _distinct(*names: list[str]) -> list[str]:
    return list(dict.fromkeys(name for some in names for name in some))


def _next_hops(network: Network, source: str, target: str) -> list[str]:
    """Return the way that the routers take; as far as they tell it."""
    way = [source]
    while way[-1] != target and len(way) < _LONGEST:
        router = network.routers.get(way[-1])
        hop = router.next_hops.get(target) if router else None
        if hop is None or hop in way:
            break
        way.append(hop)
    return way


def _join(route: Route, ways: list[list[str]]) -> None:
    """Make one graph of all ways; the longest gives the order."""
    links: dict[tuple[str, str], None] = {}
    order: dict[str, None] = {}
    for way in sorted(ways, key=len, reverse=True):
        order.update(dict.fromkeys(way))
        links.update(dict.fromkeys(itertools.pairwise(way)))
    order.update(dict.fromkeys((*route.sources, *route.targets)))
    route.stops, route.links = list(order), list(links)
