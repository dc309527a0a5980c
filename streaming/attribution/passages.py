"""The table along the way: what each station took in and gave out in an episode, as far as it tells."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract.attribution_rows import MOST_HOPS, Hop, RouteStop
from streaming.attribution.router_history import EGRESS, INGRESS, TRANSIT
from streaming.attribution.scene import RECEIVER, SENDER, Scene


def table(scene: Scene, hops: list[Hop]) -> list[RouteStop]:
    """Return a line for each station and for each way between two, in the order of the route."""
    causes: dict[str, str] = {}
    lost: dict[str, int] = {}
    for hop in hops:
        causes.setdefault(hop["hop"], hop["cause"])
        lost[hop["hop"]] = lost.get(hop["hop"], 0) + (hop["said"] if hop["of"] != "late" else 0)
    stops: list[RouteStop] = []
    for name, into, out in _stops(scene):
        cause = causes.get(name, "")
        stops.append({"hop": name, "into": into, "out": out, "lost": lost.get(name, 0), "cause": cause})
    return stops[:MOST_HOPS]


def _stops(scene: Scene) -> Iterator[tuple[str, int | None, int | None]]:
    route = scene.route
    queue = f"{route.broker}: {route.queue}" if route.broker is not None else ""
    behind = route.to_broker[0] if route.to_broker else route.stops[-1] if route.stops else ""
    for source in route.sources:
        yield f"{SENDER} → {source}", None, None
    for stop in route.stops:
        yield stop, *_through(scene, stop)
        yield from ((f"{one} → {other}", None, None) for one, other in route.links if one == stop)
        if queue and stop == behind:
            yield queue, None, None
    if queue and not behind:
        yield queue, None, None
    for target in route.targets:
        yield f"{target} → {RECEIVER}", None, None


def _through(scene: Scene, router: str) -> tuple[int | None, int | None]:
    """Return what a router took in and gave out of the path's addresses, by polls that hold the episode."""
    history = scene.network.routers.get(router)
    rows = [row for address in scene.place.sent_to for row in history.of_address(address)] if history else []
    span = scene.span
    into = out = 0
    known = False
    for row in rows:
        to_ns = min(span.to_ns, row.asked_ns)  # of one that goes on: until the last poll
        rises = [row.series.rise(place, span.from_ns, to_ns).outer for place in (INGRESS, EGRESS, TRANSIT)]
        ingress, egress, transit = rises
        if ingress is None or egress is None or transit is None:
            continue
        known = True
        out += egress + transit
        into += max(ingress, egress + transit)
    return (into, out) if known else (None, None)
