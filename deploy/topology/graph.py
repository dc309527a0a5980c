"""Plain graph arithmetic: what is connected, the cheapest way, and what the network hangs on."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

Graph = Mapping[str, Mapping[str, int]]  # node → neighbour → cost


def graph(nodes: Iterable[str], links: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """Makes a graph of links without direction; of several between two nodes the cheapest counts."""
    found: dict[str, dict[str, int]] = {node: {} for node in nodes}
    for one, other, cost in links:
        for here, there in ((one, other), (other, one)):
            found[here][there] = min(cost, found[here].get(there, cost))
    return found


def components(of: Graph) -> list[list[str]]:
    """The groups of nodes that have a way to each other, in the order of the graph."""
    left = dict.fromkeys(of)
    found = []
    while left:
        group = reached(of, next(iter(left)))
        found.append([node for node in left if node in group])
        left = {node: None for node in left if node not in group}
    return found


def reached(of: Graph, start: str, *, without: frozenset[str] = frozenset()) -> set[str]:
    """All nodes with a way from `start`, where `without` (a node, or the two ends of a link) is gone."""
    seen = {start}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for there in of[here]:
            if there not in seen and without not in ({here, there}, {there}):
                seen.add(there)
                waiting.append(there)
    return seen


def costs(of: Graph, start: str) -> dict[str, int]:
    """What the cheapest way from `start` costs, to each node that has one."""
    found: dict[str, int] = {}
    waiting = [(0, start)]
    while waiting:
        cost, here = heapq.heappop(waiting)
        if here not in found:
            found[here] = cost
            for there, more in of[here].items():
                heapq.heappush(waiting, (cost + more, there))
    return found


def cut_nodes(of: Graph) -> Iterator[str]:
    """The nodes without which some others have no way to each other any more."""
    for node, neighbours in of.items():
        if len(neighbours) > 1:
            some, *others = neighbours
            if not {*others} <= reached(of, some, without=frozenset({node})):
                yield node


def cut_links(of: Graph) -> Iterator[tuple[str, str]]:
    """The links without which some nodes have no way to each other any more."""
    spanning = set(_spanning(of))
    for one, other in links(of):
        if spanning & {(one, other), (other, one)} and other not in reached(
            of, one, without=frozenset({one, other})
        ):
            yield one, other


def _spanning(of: Graph) -> Iterator[tuple[str, str]]:
    """Links that reach every node: no other one can be the only way."""
    seen: set[str] = set()
    for start in of:
        waiting = [] if start in seen else [start]
        seen.add(start)
        while waiting:
            here = waiting.pop()
            for there in of[here]:
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
                    yield here, there


def links(of: Graph) -> Iterator[tuple[str, str]]:
    """Each link once, in the order of the graph."""
    order = {node: number for number, node in enumerate(of)}
    for one, neighbours in of.items():
        for other in neighbours:
            if order[one] < order[other]:
                yield one, other
