"""Where routers stand in a picture: by hand-made rules for the shapes that people know."""

from __future__ import annotations

import math
from typing import Final

from deploy.topology import graph
from deploy.topology.graph import Graph

Point = tuple[float, float]
STEP: Final = 96.0  # between neighbours
_WIDEST: Final = 10  # routers in a row of a line


def routers(of: Graph) -> dict[str, Point]:
    """A line in rows, a hub in the middle of its ring, a tree from above; anything else on a circle."""
    most = max((len(neighbours) for neighbours in of.values()), default=0)
    links = sum(len(neighbours) for neighbours in of.values()) // 2
    whole = len(graph.components(of)) == 1
    if whole and links == len(of) - 1:
        if most <= 2:  # noqa: PLR2004 -- one before, one behind
            return _line(of)
        if most == len(of) - 1:
            hub = next(name for name, neighbours in of.items() if len(neighbours) == most)
            return {hub: (0.0, 0.0), **_circle([name for name in of if name != hub])}
        return _tree(of)
    return _circle(_around(of))


def _line(of: Graph) -> dict[str, Point]:
    """Row after row, every other one from right to left, so that neighbours stay beside each other."""
    start = next((name for name, neighbours in of.items() if len(neighbours) <= 1), next(iter(of)))
    order = [start]
    while following := [name for name in of[order[-1]] if name not in order[-2:]]:
        order.append(following[0])
    found = {}
    for number, name in enumerate(order):
        row, column = divmod(number, _WIDEST)
        found[name] = ((column if row % 2 == 0 else _WIDEST - 1 - column) * STEP, row * STEP)
    return found


def _around(of: Graph) -> list[str]:
    """Along the links where that reaches all, so that a ring is drawn as one; else in the file's order."""
    rank = {name: number for number, name in enumerate(of)}
    order = [next(iter(of))]
    while following := of[order[-1]].keys() - {*order}:
        order.append(min(following, key=rank.__getitem__))
    return order if len(order) == len(of) else list(of)


def _circle(names: list[str]) -> dict[str, Point]:
    radius = max(STEP, len(names) * STEP * 0.75 / (2 * math.pi))
    angles = (2 * math.pi * number / len(names) - math.pi / 2 for number in range(len(names)))
    return {name: (radius * math.cos(a), radius * math.sin(a)) for name, a in zip(names, angles, strict=True)}


def _tree(of: Graph) -> dict[str, Point]:
    """Each above the middle of those below it; leaves stand side by side."""
    top = next(iter(of))
    found: dict[str, Point] = {}
    leaves = 0
    waiting: list[tuple[str, str | None, int, bool]] = [(top, None, 0, False)]
    while waiting:
        name, above, depth, done = waiting.pop()
        below = [other for other in of[name] if other != above]
        if done:
            xs = [found[other][0] for other in below]
            found[name] = ((min(xs) + max(xs)) / 2, depth * STEP)
        elif below:
            waiting.append((name, above, depth, True))
            waiting += [(other, name, depth + 1, False) for other in reversed(below)]
        else:
            found[name] = (leaves * STEP * 0.6, depth * STEP)
            leaves += 1
    return found
