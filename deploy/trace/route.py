"""Which routers messages go through, by what each router told of the ways from it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

MAX_ROUTERS: Final = 200
_FAR: Final = 1 << 62


class Way(NamedTuple):
    """The way to another interior router; `next_hop` is None where that is a neighbour."""

    next_hop: str | None
    cost: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a router told of its surroundings.

    `ways` are to the interior routers it knows, `up` those that it is an edge of, `edges` the edge routers
    behind it that messages go to, `hosts` the interior routers elsewhere that have receivers.
    """

    ways: Mapping[str, Way] = field(default_factory=dict)
    up: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    receivers: bool = False


@dataclass(slots=True)
class Hop:
    """A router of the route; `before` is the one that messages come from, None at the start."""

    router: str
    before: str | None
    cost: int | None = None
    edge: bool = False
    target: bool = False
    equal: bool = False  # on another way of the same cost, which replies may take
    sure: bool = True  # else there may be routers between it and `before`, which did not tell
    branch: str = ""  # drawn in front of its name, where the route is no line


@dataclass(slots=True)
class Route:
    """Hops in the order of the way, branch by branch; routers with receivers that there is no way to."""

    hops: list[Hop] = field(default_factory=list)
    no_way: list[str] = field(default_factory=list)
    left_out: int = 0

    @property
    def targets(self) -> list[str]:
        return [hop.router for hop in self.hops if hop.target]


def find(start: str, told: Mapping[str, Told], *, edge: bool = False, everywhere: bool = False) -> Route:
    """Return the union of the ways from `start` to all routers with receivers, or to all there are.

    What is not told yet is left out; `edge` says that `start` is an edge router.
    """
    found = _Finder(told, everywhere=everywhere)
    found.begin(start, edge=edge)
    gate = start
    if edge:
        gate = next(iter(told.get(start, _NOTHING).up), "")
        if not gate:
            found.mark_targets()
            return found.ended()
        found.add(Hop(gate, start, 0))
    here = told.get(gate, _NOTHING)
    hosts = here.ways if everywhere else _hosts(found.hops, told)
    for target in sorted(hosts, key=lambda router: (_cost(here, router), router)):
        found.walk(gate, target)
    found.mark_targets()
    if not everywhere:
        found.add_equal(gate)
    found.add_edges()
    return found.ended()


_NOTHING: Final = Told()


def _hosts(routers: Iterable[str], told: Mapping[str, Told]) -> set[str]:
    return {host for router in [*routers] for host in told.get(router, _NOTHING).hosts}


def _cost(told: Told, router: str) -> int:
    way = told.ways.get(router)
    return _FAR if way is None or way.cost is None else way.cost


class _Finder:
    def __init__(self, told: Mapping[str, Told], *, everywhere: bool) -> None:
        self._told = told
        self._everywhere = everywhere
        self._no_way: list[str] = []
        self._wanted: set[str] = set()
        self._left_out: set[str] = set()
        self.hops: dict[str, Hop] = {}

    def begin(self, start: str, *, edge: bool) -> None:
        self.hops[start] = Hop(start, None, None if edge else 0, edge=edge)

    def add(self, hop: Hop) -> bool:
        """Return whether the hop is part of the route now."""
        if hop.router in self.hops:
            return True
        if len(self.hops) >= MAX_ROUTERS:
            self._left_out.add(hop.router)
            return False
        self.hops[hop.router] = hop
        return True

    def walk(self, gate: str, target: str) -> None:
        """Go from next hop to next hop, as far as they are told."""
        costs = self._told.get(gate, _NOTHING)
        self._wanted.add(target)
        at, passed = gate, {gate}
        while at != target:
            told = self._told.get(at)
            way = told.ways.get(target) if told else None
            if told and told.ways and way is None:
                self._no_way.append(target)
                return
            following = (way.next_hop or target) if way else target
            if following in passed:  # they are learning a new way, and do not agree yet
                self._no_way.append(target)
                return
            known = costs.ways.get(following)
            if not self.add(Hop(following, at, known.cost if known else None, sure=way is not None)):
                self._left_out.add(target)
                return
            passed.add(following)
            at = following

    def mark_targets(self) -> None:
        for hop in self.hops.values():
            told = self._told.get(hop.router, _NOTHING)
            wanted = hop.router in self._wanted and hop.router not in self._no_way
            hop.target = told.receivers if told.receivers or told.edges else wanted

    def add_equal(self, gate: str) -> None:
        """Add the routers on other ways of the same cost: nearest first, each behind a neighbour."""
        here = self._told.get(gate, _NOTHING)
        targets = [target for target in self._wanted if target in self._told]
        for router in sorted(here.ways, key=lambda name: (_cost(here, name), name)):
            if router in self.hops or not self._is_between(here, router, targets):
                continue
            cost = _cost(here, router)
            near = [
                hop.router
                for hop in self.hops.values()
                if hop.cost is not None and hop.cost < cost and self._neighbours(hop.router, router)
            ]
            if near:  # else it is on the way, or on another one, behind a router that has not told
                self.add(Hop(router, near[0], cost, equal=True))

    def _is_between(self, here: Told, router: str, targets: list[str]) -> bool:
        return any(
            _cost(here, router) + _cost(self._told[target], router) == _cost(here, target)
            for target in targets
        )

    def _neighbours(self, one: str, other: str) -> bool:
        way = self._told.get(one, _NOTHING).ways.get(other)
        return way is not None and way.next_hop is None

    def add_edges(self) -> None:
        for hop in [*self.hops.values()]:
            if not hop.edge:
                for edge in self._told.get(hop.router, _NOTHING).edges:
                    self.add(Hop(edge, hop.router, hop.cost, edge=True, target=not self._everywhere))

    def ended(self) -> Route:
        hops = _in_order(self.hops)
        return Route(hops, sorted({*self._no_way}), len(self._left_out))


def _in_order(hops: Mapping[str, Hop]) -> list[Hop]:
    """Return them branch by branch, with the branches drawn."""
    after: dict[str | None, list[Hop]] = {}
    for hop in hops.values():
        after.setdefault(hop.before, []).append(hop)
    for branches in after.values():
        branches.sort(key=lambda hop: (hop.equal, _FAR if hop.cost is None else hop.cost, hop.router))
    ordered: list[Hop] = []
    open_hops = [(hop, "") for hop in after.get(None, [])]
    while open_hops:
        hop, drawn = open_hops.pop()
        ordered.append(hop)
        branches = after.get(hop.router, [])
        last = len(branches) - 1
        for place, branch in reversed([*enumerate(branches)]):
            if last:
                branch.branch = drawn + ("└ " if place == last else "├ ")
                open_hops.append((branch, drawn + ("  " if place == last else "│ ")))
            else:
                branch.branch = drawn
                open_hops.append((branch, drawn))
    return ordered
