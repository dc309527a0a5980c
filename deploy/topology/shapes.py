"""The shapes that networks often have, as documents of the form."""

from __future__ import annotations

import string
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, Final

MOST_ROUTERS: Final = 128  # a mesh of real routers has no more


def names(count: int) -> list[str]:
    """Returns A, B, C …, or R01, R02 … where there are not letters enough."""
    if count <= len(string.ascii_uppercase):
        return list(string.ascii_uppercase[:count])
    width = len(str(count))
    return [f"R{number:0{width}}" for number in range(1, count + 1)]


def line(routers: Sequence[str]) -> list[tuple[str, str]]:
    """Each dials the one before it."""
    return [(later, earlier) for earlier, later in pairwise(routers)]


def ring(routers: Sequence[str]) -> list[tuple[str, str]]:
    """A line, closed where it has more than two ends to close."""
    closing = [(routers[0], routers[-1])] if len(routers) > 2 else []  # noqa: PLR2004 -- two are linked already
    return line(routers) + closing


def star(routers: Sequence[str]) -> list[tuple[str, str]]:
    """All dial the first."""
    return [(router, routers[0]) for router in routers[1:]]


def complete(routers: Sequence[str]) -> list[tuple[str, str]]:
    """Each dials all before it."""
    return [(later, earlier) for earlier, later in combinations(routers, 2)]


def tree(routers: Sequence[str]) -> list[tuple[str, str]]:
    """Two below each; each dials the one above."""
    return [(router, routers[(number - 1) // 2]) for number, router in enumerate(routers) if number]


SHAPES: Final = {"line": line, "ring": ring, "star": star, "complete": complete, "tree": tree}


def document(
    shape: str, routers: Sequence[str], brokers: Sequence[tuple[str, str | None]] = (), **more: Any
) -> dict[str, Any]:
    """A topology of this shape, each broker with a queue of its own beside its router.

    Brokers that name no router stand by the routers from the last one backwards.
    """
    links: list[dict[str, Any]] = [{"from": source, "to": to} for source, to in SHAPES[shape](routers)]
    stores = {}
    for number, (broker, router) in enumerate(brokers):
        queue = f"inflight.{broker}"
        stores[broker] = {"queues": [queue]}
        beside = router or routers[-1 - number % len(routers)]
        links.append({"from": beside, "to": broker, "queues": [queue]})
    made: dict[str, Any] = {"version": 1, "name": shape, **more, "routers": {name: {} for name in routers}}
    if stores:
        made["brokers"] = stores
    return {**made, "links": links}
