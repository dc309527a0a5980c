"""The graph of a mesh, and how it differs from the expected one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from collectors.router.snapshot import RouterSnapshot

REMEMBER_NS: Final = 900_000_000_000  # a link that went is told as down for so long
MAX_EDGES: Final = 10_000  # links that are known at a time; others are left out
EXPECT_SEPARATOR: Final = "--"


class Pair(NamedTuple):
    """Two routers, in alphabetical order: a link has no direction."""

    first: str
    second: str

    @property
    def id(self) -> str:
        return f"{self.first}{EXPECT_SEPARATOR}{self.second}"


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two routers."""

    pair: Pair
    up: bool
    cost: int | None


class Differences(NamedTuple):
    """Differences from the expected links; empty if none are expected."""

    missing_router: tuple[str, ...] = ()
    unexpected_router: tuple[str, ...] = ()
    missing_link: tuple[str, ...] = ()
    unexpected_link: tuple[str, ...] = ()


@dataclass(slots=True)
class Graph:
    """The graph of a mesh after one poll."""

    routers: dict[str, bool] = field(default_factory=dict)  # up or not
    edges: list[Edge] = field(default_factory=list)
    differences: Differences = field(default_factory=Differences)


def pair(one: str, other: str) -> Pair:
    """Return the two routers in order."""
    return Pair(one, other) if one <= other else Pair(other, one)


def parse_expected(text: str) -> Pair:
    """Read `a--b` of the config."""
    first, _, second = text.partition(EXPECT_SEPARATOR)
    return pair(first.strip(), second.strip())


class Topology:
    """Remembers links for a while, so that one that is gone is shown as down."""

    def __init__(self, expect: Iterable[str] = ()) -> None:
        self._expected = {parse_expected(text) for text in expect}
        self._seen_ns: dict[Pair, int] = {}

    def feed(self, snapshots: Mapping[str, RouterSnapshot], down: Iterable[str], steady_ns: int) -> Graph:
        """Return the graph of the routers that answered and of those that did not."""
        links = _links(snapshots)
        costs = _costs(snapshots)
        for gone in [p for p, at_ns in self._seen_ns.items() if steady_ns - at_ns > REMEMBER_NS]:
            del self._seen_ns[gone]
        for up in links:
            if up in self._seen_ns or len(self._seen_ns) < MAX_EDGES:
                self._seen_ns[up] = steady_ns
        routers = {**dict.fromkeys(down, False), **dict.fromkeys(snapshots, True)}
        shown = sorted(self._seen_ns.keys() | self._expected)
        return Graph(
            routers,
            [Edge(p, p in links, costs.get(p)) for p in shown],
            self._differences(snapshots, links),
        )

    def _differences(self, snapshots: Mapping[str, RouterSnapshot], links: set[Pair]) -> Differences:
        if not self._expected:
            return Differences()
        named = {router for p in self._expected for router in p}
        edges = {router for router, snapshot in snapshots.items() if snapshot.edge}
        interior = snapshots.keys() - edges
        # Edge routers come and go as they like: they may be missed, but are never unexpected.
        return Differences(
            tuple(sorted(named - snapshots.keys())),
            tuple(sorted(interior - named)),
            tuple(p.id for p in sorted(self._expected - links)),
            tuple(p.id for p in sorted(links - self._expected) if not edges & {*p}),
        )


def _links(snapshots: Mapping[str, RouterSnapshot]) -> set[Pair]:
    """Return the links that both ends tell of, or the only end that answered."""
    told = {router: _neighbours(snapshot, router) for router, snapshot in snapshots.items()}
    found = {
        pair(router, neighbour)
        for router, neighbours in told.items()
        for neighbour in neighbours
        if neighbour not in told or router in told[neighbour]
    }
    for snapshot in snapshots.values():
        for row in snapshot.rows("node"):  # of a link between two that did not answer, a third one may tell
            if row["id"] not in told:
                found |= {pair(row["id"], other) for other in row["neighbours"] or () if other not in told}
    return found


def _neighbours(snapshot: RouterSnapshot, router: str) -> set[str]:
    own = next((row["neighbours"] for row in snapshot.rows("node") if row["id"] == router), None) or ()
    edges = (row["container"] for row in snapshot.rows("connection") if row["role"] == "edge")
    return {*own, *(container for container in edges if container)}


def _costs(snapshots: Mapping[str, RouterSnapshot]) -> dict[Pair, int]:
    """Return the links' costs. A node's cost is that of the way to it: one link if there is no next hop."""
    found: dict[Pair, int] = {}
    for router, snapshot in snapshots.items():
        for row in snapshot.rows("node"):
            if row["id"] != router and row["next_hop"] is None and row["cost"] is not None:
                found[pair(router, row["id"])] = row["cost"]
    return found
