"""The hops at which a path's messages may have been lost or refused, from what counters and absences tell."""

from __future__ import annotations

from collections.abc import Iterator

from streaming.attribution import absences
from streaming.attribution.broker_history import UNROUTED
from streaming.attribution.candidate import Candidate
from streaming.attribution.causes import IN, OUT, QUEUE, Missing, OfLink
from streaming.attribution.network import Network
from streaming.attribution.router_history import Link
from streaming.attribution.scene import RECEIVER, Scene
from streaming.attribution.series import Rise, Series


def candidates(scene: Scene, of: Missing) -> list[Candidate]:
    """Return all hops that may explain a part of this sum, not weighed yet."""
    gone = list(absences.candidates(scene, of))
    # What a router made for want of a way on is of the hop that was gone then.
    cut = any(one.kind in {"router", "link", "queue"} for one in gone)
    found = [*gone, *_end_links(scene, of), *_queue(scene, of)]
    if not (cut and of == "refused"):
        found += _made_at_sources(scene, of)
    found += _between_routers(scene, of, made=not cut)
    return found


def _rises(scene: Scene, series: Series, counter: int) -> tuple[Rise, Rise]:
    span = scene.span
    return (
        series.rise(counter, span.from_ns, span.to_ns),
        series.rise(counter, span.from_ns, span.sent_to_ns - (span.sent_from_ns - span.from_ns)),
    )


def _end_links(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """Links to receivers and to the broker: what they count is of this address alone."""
    place = scene.place
    for router, link in scene.network.ends(place.sent_to, "out"):
        broker = place.via is not None and not link.own
        for tells in OUT:
            if tells.of != of or (place.multicast and scene.branch and router not in scene.branch):
                continue
            ends_at = (place.via or "", scene.route.queue) if broker else (router, RECEIVER)
            if (found := _counted(scene, link, tells, router, behind=ends_at, queue=broker)) is not None:
                yield found
    if place.via is not None and place.receive_address not in place.sent_to:
        for router, link in scene.network.ends((place.receive_address,), "out"):
            for tells in OUT:
                if tells.of == of and link.own:
                    found = _counted(scene, link, tells, router, behind=(router, RECEIVER), queue=False)
                    if found is not None:
                        yield found
    for router, link in scene.network.ends(place.sent_to, "in"):
        for tells in IN:
            if tells.of == of == "lost":
                found = _counted(scene, link, tells, router, behind=None, queue=False)
                if found is not None:
                    yield found


def _counted(
    scene: Scene, link: Link, tells: OfLink, router: str, *, behind: tuple[str, str] | None, queue: bool
) -> Candidate | None:
    """Return what a counter of a link of this path alone tells; `behind` None: it is of the router."""
    rise, within = _rises(scene, link.series, tells.counter)
    lower = scene.span.lower(rise, within, tells.of)
    upper = None if rise.outer is None else rise.outer + link.undelivered
    if not rise.inner and not within.inner and not upper:
        return None
    if upper is None and not rise.inner:
        return None  # nothing was seen to be lost here; that it is gone is told by its absence
    if tells.of == "refused":
        named = scene.refused.get(tells.cause, 0)
        upper = named if upper is None else min(upper, named)
        lower = min(lower, named)
    at, to = behind or (router, "")
    kind = "queue" if queue else "end" if behind else "router"
    return Candidate(
        kind,  # type: ignore[arg-type]
        at,
        to,
        tells.of,
        tells.cause,
        lower,
        upper,
        "counted",
        exact=rise.still and scene.span.sure,
        shared=not scene.span.sure,
        evidence=[_said(rise, tells.cause, f"on {router}'s link {_way(link)}")],
    )


def _made_at_sources(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """What the routers that senders are attached to gave back, less what they got back from further down."""
    if of != "refused":
        return
    network = scene.network
    for router, link in network.ends(scene.place.sent_to, "in"):
        if not link.own:
            continue
        for tells in IN:
            if tells.of != of:
                continue
            rise, within = _rises(scene, link.series, tells.counter)
            named = scene.refused.get(tells.cause, 0)
            if not named or not (rise.outer or rise.inner):
                continue
            back_up, back_low = 0, 0
            unknown = False
            for further in _ways_out(scene, router):
                came, came_within = _rises(scene, further.series, tells.counter)
                unknown = unknown or came.outer is None
                back_up += came.outer or 0
                if further.kind == "end":
                    back_low += scene.span.lower(came, came_within, of)
            upper = named if rise.outer is None else min(named, rise.outer)
            lower = 0 if unknown else max(0, scene.span.lower(rise, within, of) - back_up)
            upper = max(0, upper - back_low)
            if upper:
                yield Candidate(
                    *("router", router, "", of, tells.cause, min(lower, upper), upper, "counted"),
                    exact=rise.still and scene.span.sure and not unknown,
                    shared=not scene.span.sure,
                    evidence=[_said(rise, tells.cause, f"on {router}'s link from the sender")],
                )


def _ways_out(scene: Scene, router: str) -> Iterator[Link]:
    """Yield the links on which a router passes this path's messages on."""
    yield from (link for name, link in scene.network.ends(scene.place.sent_to, "out") if name == router)
    history = scene.network.routers.get(router)
    for link in history.links.values() if history else ():
        if link.kind == "router" and link.direction == "out":
            yield link


def _between_routers(scene: Scene, of: Missing, *, made: bool) -> Iterator[Candidate]:
    """Counters of links between routers: they are of all traffic, so upper bounds."""
    span, network = scene.span, scene.network
    for one, other in scene.route.links:
        dropped, evidence = 0, ""
        for link in network.between(one, other):
            rise = link.series.rise(OUT[0].counter, span.from_ns, span.to_ns)
            risen = rise.inner if rise.outer is None else rise.outer
            if of == "lost" and risen:
                dropped += risen
                evidence = _said(rise, "dropped", f"on {one}'s links to {other}, of all traffic")
        if dropped:
            yield Candidate(
                *("link", one, other, of, "dropped", 0, dropped, "shared"), shared=True, evidence=[evidence]
            )
        for tells in IN if made else ():
            if tells.of != of:
                continue
            came, evidence = 0, ""
            for link in _into(network, other, one):
                rise = link.series.rise(tells.counter, span.from_ns, span.to_ns)
                risen = rise.inner if rise.outer is None else rise.outer
                if risen:
                    came += risen
                    evidence = _said(rise, tells.cause, f"on {other}'s links from {one}, of all traffic")
            further = sum(
                span_rise.inner
                for link in _ways_out(scene, other)
                if link.kind == "end"
                for span_rise in [link.series.rise(tells.counter, span.from_ns, span.to_ns)]
            )
            upper = came - further if of == "refused" else came
            if of == "refused":
                upper = min(upper, scene.refused.get(tells.cause, 0))
            if upper > 0:
                yield Candidate(
                    *("router", other, "", of, tells.cause, 0, upper, "shared"),
                    shared=True,
                    evidence=[evidence],
                )


def _into(network: Network, router: str, peer: str) -> Iterator[Link]:
    history = network.routers.get(router)
    for link in history.links.values() if history else ():
        if link.kind == "router" and link.direction == "in" and link.peer == peer:
            yield link


def _queue(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """What the broker counted of the path's queue and address."""
    place = scene.place
    broker = scene.network.brokers.get(place.via or "")
    if broker is None or place.via is None:
        return
    if of == "refused":
        # Without a router between, whoever refused was the broker.
        direct = scene.route.sources == [] and not scene.network.ends(place.sent_to, "in")
        rejected = scene.refused.get("rejected", 0)
        if direct and rejected:
            limit = max((each.limit_ratio for each in broker.addresses.values()), default=0.0)
            full = f"; its memory limit is used to {limit:.0%}" if limit else ""
            yield Candidate(
                *("queue", place.via, scene.route.queue, of, "rejected", rejected, rejected, "counted"),
                exact=False,
                evidence=[f"{place.via} rejected {rejected:,} of the sender's messages{full}"],
            )
        return
    queue = broker.queues.get(scene.route.queue)
    for tells in QUEUE if queue is not None else ():
        assert queue is not None  # noqa: S101 -- for mypy
        rise, within = _rises(scene, queue.series, tells.counter)
        if rise.inner or rise.outer:
            yield Candidate(
                *("queue", place.via, scene.route.queue, of, tells.cause),
                lower=scene.span.lower(rise, within, of),
                upper=rise.outer,
                how="counted",
                exact=rise.still and scene.span.sure,
                shared=not scene.span.sure,
                evidence=[_said(rise, tells.says, f"by {place.via} in {scene.route.queue}")],
            )
    address = broker.addresses.get(place.address)
    if address is not None:
        rise, within = _rises(scene, address.series, UNROUTED)
        if rise.inner or rise.outer:
            yield Candidate(
                *("queue", place.via, place.address, of, "unrouted"),
                lower=scene.span.lower(rise, within, of),
                upper=rise.outer,
                how="counted",
                exact=rise.still and scene.span.sure,
                shared=not scene.span.sure,
                evidence=[_said(rise, "unrouted", f"by {place.via}: the address has no queue")],
            )


def _said(rise: Rise, what: str, where: str) -> str:
    count = rise.inner if rise.outer is None else rise.outer
    least = "at least " if rise.outer is None else ""
    return f"{least}{count:,} {what.replace('_', ' ')} {where}"


def _way(link: Link) -> str:
    return (
        "to " + (link.peer or "the receiver")
        if link.direction == "out"
        else "from " + (link.peer or "the sender")
    )
