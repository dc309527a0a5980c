"""What routers know of one another: the cheapest ways, and where an address has subscribers."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from .parts import Router, Way


def learn(routers: Mapping[str, Router], ways: Iterable[Way]) -> None:
    """Set next hops, costs and hosts of all routers that live."""
    known = [way for way in ways if way.known]
    for router in routers.values():
        if router.alive:
            router.next_hop, router.cost = _cheapest(router.name, known)
    for router in routers.values():
        keys = {key for other in routers.values() for key in other.subscribers}
        router.hosts = {
            key: {
                other.name
                for other in routers.values()
                if other is not router and other.subscribers.get(key) and other.name in router.next_hop
            }
            for key in keys
        }


def _cheapest(start: str, ways: Iterable[Way]) -> tuple[dict[str, str], dict[str, int]]:
    around: dict[str, list[Way]] = {}
    for way in ways:
        around.setdefault(way.one, []).append(way)
        around.setdefault(way.other, []).append(way)
    waiting = [(0, start, "")]
    next_hop: dict[str, str] = {}
    cost: dict[str, int] = {}
    while waiting:
        sum_, name, first = heapq.heappop(waiting)
        if name in cost:
            continue
        cost[name] = sum_
        if first:
            next_hop[name] = first
        for way in around.get(name, ()):
            other = way.beyond(name)
            heapq.heappush(waiting, (sum_ + way.cost, other, first or other))
    del cost[start]
    return next_hop, cost
