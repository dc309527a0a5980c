"""The mesh as the routers' adverts describe it: shortest paths, costs, next hops. Pure."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Advert:
    """What one router says of itself; the advert with its highest (boot_ns, sequence) counts."""

    router: str
    boot_ns: int
    sequence: int
    neighbours: dict[str, int] = field(default_factory=dict)  # router -> cost
    consumers: tuple[str, ...] = ()  # keys of mobile addresses that have consumers there
    edges: tuple[str, ...] = ()
    waypoints: tuple[str, ...] = ()
    link_routes: tuple[str, ...] = ()  # keys of those that lead on from there

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Advert:
        """Read an advert; raises AttributeError, KeyError, TypeError or ValueError if it is none."""
        return Advert(
            router=str(value["router"]),
            boot_ns=int(value["boot_ns"]),
            sequence=int(value["sequence"]),
            neighbours={str(name): int(cost) for name, cost in value["neighbours"].items()},
            consumers=tuple(map(str, value["consumers"])),
            edges=tuple(map(str, value["edges"])),
            waypoints=tuple(map(str, value["waypoints"])),
            link_routes=tuple(map(str, value["link_routes"])),
        )

    @property
    def age(self) -> tuple[int, int]:
        return (self.boot_ns, self.sequence)


@dataclass(frozen=True)
class Tree:
    """The shortest paths from one router. Routers with the same adverts find the same tree."""

    costs: dict[str, int]
    parents: dict[str, str]

    def path(self, target: str) -> list[str]:
        """Return the routers from the root to the target, both included; [] if it cannot be reached."""
        if target not in self.costs:
            return []
        steps = [target]
        while steps[-1] in self.parents:
            steps.append(self.parents[steps[-1]])
        return steps[::-1]


class Topology:
    def __init__(self, me: str) -> None:
        self.me = me
        self.adverts: dict[str, Advert] = {}
        self.indexes: dict[str, int] = {me: 0}
        self._trees: dict[str, Tree] = {}

    def learn(self, advert: Advert) -> bool:
        """Take in an advert; return False if it is not newer than the known one."""
        known = self.adverts.get(advert.router)
        if known and known.age >= advert.age:
            return False
        self.adverts[advert.router] = advert
        self.indexes.setdefault(advert.router, len(self.indexes))
        self._trees.clear()
        return True

    def forget(self, router: str) -> None:
        """Drop a router's advert, since it may have started anew."""
        if self.adverts.pop(router, None):
            self._trees.clear()

    def tree(self, root: str) -> Tree:
        if root not in self._trees:
            self._trees[root] = self._grow(root)
        return self._trees[root]

    def _grow(self, root: str) -> Tree:
        costs = {root: 0}
        parents: dict[str, str] = {}
        heap = [(0, root)]
        done: set[str] = set()
        while heap:
            cost, router = heapq.heappop(heap)
            if router in done:
                continue
            done.add(router)
            for name, step in sorted(self._edges(router).items()):
                if name not in costs or cost + step < costs[name]:
                    costs[name] = cost + step
                    parents[name] = router
                    heapq.heappush(heap, (cost + step, name))
        return Tree(costs, parents)

    def _edges(self, router: str) -> dict[str, int]:
        """Return the connections that both ends report: one that is gone may still be in one end's advert."""
        advert = self.adverts.get(router)
        if advert is None:
            return {}
        return {
            name: cost
            for name, cost in advert.neighbours.items()
            if name in self.adverts and router in self.adverts[name].neighbours
        }

    def routers(self) -> list[str]:
        """Return the reachable routers: this one, then the others in the order of their first adverts."""
        return sorted(self.tree(self.me).costs, key=lambda name: self.indexes.get(name, -1))

    def next_hop(self, origin: str, target: str) -> str | None:
        """Return the neighbour that a message from `origin` to `target` goes to from here, or None."""
        path = self.tree(origin).path(target)
        if self.me not in path[:-1]:
            return None
        return path[path.index(self.me) + 1]

    def consumers(self, key: str) -> dict[str, int]:
        """Return the cost to each other reachable router with consumers of `key`."""
        costs = self.tree(self.me).costs
        return {r: c for r, c in costs.items() if r != self.me and key in self.adverts[r].consumers}

    def branches(self, origin: str, key: str) -> set[str]:
        """Return the neighbours to which a multicast from `origin` goes from here."""
        targets = (r for r in self.tree(self.me).costs if r not in {self.me, origin})
        hops = (self.next_hop(origin, r) for r in targets if key in self.adverts[r].consumers)
        return {hop for hop in hops if hop}

    def valid_origins(self, router: str) -> list[str]:
        """Return the routers whose messages to `router` come through here (attribute of router.node)."""
        others = [r for r in self.routers() if r not in {self.me, router}]
        return [origin for origin in others if self.next_hop(origin, router)]

    def edge_home(self, edge: str) -> str | None:
        return next((r for r in self.routers() if r in self.adverts and edge in self.adverts[r].edges), None)

    def waypoints(self) -> set[str]:
        return {name for advert in self.adverts.values() for name in advert.waypoints}

    def link_routes(self) -> set[str]:
        """Return those that other routers have told of, reachable or not."""
        return {
            key for advert in self.adverts.values() if advert.router != self.me for key in advert.link_routes
        }

    def leading(self, key: str) -> list[str]:
        """Return the other reachable routers from which a link route leads on."""
        return [r for r in self.routers() if r != self.me and key in self.adverts[r].link_routes]
