"""A topology as an SVG picture that needs nothing else, light or dark as the viewer is."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final
from xml.sax.saxutils import escape

from deploy.topology import graph
from deploy.topology.plan import Plan
from deploy.topology.show import layout
from deploy.topology.show.layout import Point

_RADIUS: Final = 18.0
_MARGIN: Final = 70.0
_LEGEND: Final = 44.0
_LETTER: Final = 6.5  # as wide as one is
_APART: Final = 64.0  # what stands beside a router keeps so far from all others
_TURNS: Final = (0.0, 0.8, -0.8, 1.6, -1.6, 2.4, -2.4)
_FEW: Final = 4  # edge routers
_FITS: Final = 4  # letters within a circle
_STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; dominant-baseline: central }
.name { paint-order: stroke; stroke: #fff; stroke-width: 3px }
.link { stroke: #7b8794; stroke-width: 1.5; fill: none }
.edge-link { stroke-dasharray: 5 4 }
.store-link { stroke: #b7791f }
.several { stroke-width: 4 }
.cost { font-size: 11px; font-weight: 600 }
.behind { fill: #fff }
.interior { fill: #dbeafe; stroke: #2563eb; stroke-width: 1.5 }
.edge { fill: #fff; stroke: #2563eb; stroke-width: 1.5; stroke-dasharray: 4 3 }
.broker { fill: #fef3c7; stroke: #b7791f; stroke-width: 1.5 }
.legend { text-anchor: start; fill: #52606d }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb }
  .name { stroke: #1f2933 }
  .legend { fill: #9aa5b1 }
  .behind { fill: #1f2933 }
  .link { stroke: #9aa5b1 }
  .interior { fill: #1e3a8a; stroke: #93c5fd }
  .edge { fill: #1f2933; stroke: #93c5fd }
  .broker { fill: #78350f; stroke: #fbbf24 }
  .store-link { stroke: #fbbf24 }
}
"""


def svg(plan: Plan) -> str:
    """The whole file. Costs other than 1 stand at their links; thick links have several connections."""
    at = _places(plan)
    left, top = (min(point[axis] for point in at.values()) - _MARGIN for axis in (0, 1))
    right, bottom = (max(point[axis] for point in at.values()) + _MARGIN for axis in (0, 1))
    legend = _legend(plan)
    missing = max(0.0, _LETTER * len(legend) + 32 - (right - left))
    left, right = left - missing / 2, right + missing / 2
    width, height = right - left, bottom - top + _LEGEND
    box = f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">',
        f"<title>{escape(plan.topology.name)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="behind" x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}"/>',
        *_links(plan, at),
        *(line for name, point in at.items() for line in _node(plan, name, point)),
        f'<text class="legend" x="{left + 16:.0f}" y="{bottom + _LEGEND / 2:.0f}">{escape(legend)}</text>',
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _legend(plan: Plan) -> str:
    """Of what the picture has."""
    links = [*plan.links()]
    told = {
        "circle: router": True,
        "dashed: edge": any(router.router.mode == "edge" for router in plan.routers.values()),
        "box: broker": bool(plan.brokers),
        "number: cost, where not 1": any(cost != 1 for _, _, cost in links),
        "thick: several connections": len({(one, other) for one, other, _ in links}) < len(links),
    }
    return " · ".join(text for text, holds in told.items() if holds)


def _places(plan: Plan) -> dict[str, Point]:
    """Routers by their layout; brokers, and edge routers where they are few, outwards of what they are at."""
    whole = plan.graph()
    edges = {name for name, router in plan.routers.items() if router.router.mode == "edge"}
    if any(len(edges & neighbours.keys()) > _FEW for neighbours in whole.values()):
        edges = set()
    aside = {*plan.brokers, *edges} if len(plan.meshes) == 1 else edges
    links = (link for link in plan.links() if not aside & {*link[:2]})
    found = layout.routers(graph.graph([name for name in whole if name not in aside], links))
    xs, ys = zip(*found.values(), strict=True)
    middle = (sum(xs) / len(xs), sum(ys) / len(ys))
    waiting = [name for name in whole if name not in found]
    while waiting:
        name = next(name for name in waiting if any(other in found for other in whole[name]))
        waiting.remove(name)
        by = next(other for other in whole[name] if other in found)
        found[name] = next(p for p in _beside(found[by], middle) if _is_free(p, found.values()))
    return found


def _beside(point: Point, middle: Point) -> Iterator[Point]:
    """Places around a point, outwards ones first, then farther away."""
    x, y = point
    outwards = math.atan2(y - middle[1], x - middle[0]) if point != middle else math.pi / 2
    for distance in itertools.count(0.9 * layout.STEP, 0.4 * layout.STEP):
        for turn in _TURNS:
            yield x + distance * math.cos(outwards + turn), y + distance * math.sin(outwards + turn)


def _is_free(point: Point, taken: Iterable[Point]) -> bool:
    return all(math.dist(point, other) > _APART for other in taken)


def _links(plan: Plan, at: dict[str, Point]) -> Iterator[str]:
    connections = Counter(frozenset((one, other)) for one, other, _ in plan.links())
    costs = plan.graph()
    for one, other in graph.links(costs):
        (x1, y1), (x2, y2) = at[one], at[other]
        kinds = ["link"]
        if {one, other} & plan.brokers.keys():
            kinds.append("store-link")
        elif "edge" in {plan.routers[one].router.mode, plan.routers[other].router.mode}:
            kinds.append("edge-link")
        if connections[frozenset((one, other))] > 1:
            kinds.append("several")
        yield f'<line class="{" ".join(kinds)}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        if (cost := costs[one][other]) != 1:
            x, y = (x1 + x2) / 2, (y1 + y2) / 2
            yield f'<circle class="behind" cx="{x:.1f}" cy="{y:.1f}" r="10"/>'
            yield f'<text class="cost" x="{x:.1f}" y="{y:.1f}">{cost}</text>'


def _node(plan: Plan, name: str, point: Point) -> Iterator[str]:
    x, y = point
    if name in plan.brokers:
        width = max(44.0, 8.0 * len(name) + 12)
        corner = f'x="{x - width / 2:.1f}" y="{y - 13:.1f}"'
        yield f'<rect class="broker" {corner} width="{width:.1f}" height="26" rx="4"/>'
        yield f'<text x="{x:.1f}" y="{y:.1f}">{escape(name)}</text>'
        return
    mode = plan.routers[name].router.mode
    yield f'<circle class="{mode}" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.0f}"/>'
    if len(name) <= _FITS:
        yield f'<text x="{x:.1f}" y="{y:.1f}">{escape(name)}</text>'
    else:
        yield f'<text class="name" x="{x:.1f}" y="{y + _RADIUS + 9:.1f}">{escape(name)}</text>'
