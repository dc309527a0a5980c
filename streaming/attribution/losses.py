"""The hops at which a path's messages may have been lost or refused, from what counters and absences tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streaming.attribution import absences
from streaming.attribution.broker_history import BrokerHistory
from streaming.attribution.candidate import Candidate
from streaming.attribution.causes import COUNTED_AS, IN, OUT, QUEUE, UNROUTED, Missing, OfLink
from streaming.attribution.router_history import Link
from streaming.attribution.scene import RECEIVER, Scene
from streaming.attribution.series import Rise, Series


def candidates(scene: Scene, of: Missing) -> list[Candidate]:
    """Return all hops that may explain a part of this sum, not weighed yet."""
    gone = list(absences.candidates(scene, of))
    # Routers lose only what is presettled; what is not, they give back.
    links = of == "refused" or scene.span.path.presettled
    made = [*_made_at_sources(scene, of), *_between_routers(scene, of)] if links else []
    found = [*(_end_links(scene, of) if links else ()), *_queue(scene, of)]
    made += [one for one in found if one.kind == "router"]
    found = [one for one in found if one.kind != "router"]
    cut = max((one for one in gone if one.how == "absent"), key=lambda one: one.weight, default=None)
    if cut is None:
        return [*gone, *made, *found]
    # What a router made for want of a way on, or dropped on its way there, is of the hop that was gone then.
    behind = {cut.at} if cut.kind == "router" else set()
    theirs = [one for one in made if one.kind == "router" or behind & {one.at, one.to}]
    cut.lower = sum(one.lower for one in theirs)
    cut.evidence += [text for one in theirs for text in one.evidence]
    return [*gone, *(one for one in made if one not in theirs), *found]


def _rises(scene: Scene, series: Series, counter: int) -> tuple[Rise, Rise]:
    span = scene.span
    return (
        series.rise(counter, span.from_ns, span.to_ns),
        series.rise(counter, span.from_ns, span.sent_to_ns - (span.sent_from_ns - span.from_ns)),
    )


def _end_links(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """Links to receivers and to the broker, and from senders: what they count is of this address alone."""
    place = scene.place
    for router, link in scene.network.ends(place.sent_to, "out"):
        if place.multicast and scene.branch and router not in scene.branch:
            continue
        to_broker = place.via is not None and not link.own
        behind = (place.via or "", scene.route.queue) if to_broker else (router, RECEIVER)
        yield from _of_link(scene, link, of, router, behind, queue=to_broker)
    if place.via is not None and place.receive_address not in place.sent_to:
        for router, link in scene.network.ends((place.receive_address,), "out"):
            if link.own:
                yield from _of_link(scene, link, of, router, (router, RECEIVER))
    if of == "lost":
        for router, link in scene.network.ends(place.sent_to, "in"):
            yield from _of_link(scene, link, of, router, None)


def _of_link(
    scene: Scene, link: Link, of: Missing, router: str, behind: tuple[str, str] | None, *, queue: bool = False
) -> Iterator[Candidate]:
    """Yield what the counters of a link tell; `behind` is the hop there, None: they are of the router."""
    for tells in IN if behind is None else OUT:
        if tells.of == of:
            found = _counted(scene, link, tells, router, behind=behind, queue=queue)
            if found is not None:
                yield found


def _counted(
    scene: Scene, link: Link, tells: OfLink, router: str, *, behind: tuple[str, str] | None, queue: bool
) -> Candidate | None:
    """Return what a counter of a link of this path alone tells; `behind` None: it is of the router."""
    rise, within = _rises(scene, link.series, tells.counter)
    lower = scene.span.lower(rise, within, tells.of)
    # What waits when the last poll asks may be dropped later: seen up to 249 at a time.
    held = link.held_at(rise.closed_ns)
    upper = None if rise.outer is None else rise.outer + held
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
    text = _said(rise, tells.cause, f"on {router}'s link {way(link, at if queue else None)}")
    return Candidate(
        kind,  # type: ignore[arg-type]
        at,
        to,
        tells.of,
        tells.cause,
        lower,
        upper,
        "counted",
        likely=None if upper is None or rise.outer is None else min(rise.outer, upper),
        exact=rise.still and scene.span.sure and not link.held_at(rise.opened_ns),
        shared=not scene.span.sure,
        evidence=[f"{text}, where {held:,} waited" if held and rise.outer is not None else text],
    )


def _made_at_sources(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """What the routers that senders are attached to gave back, less what they got back from further down."""
    for router, link in scene.network.ends(scene.place.sent_to, "in"):
        for tells in IN if link.own and of == "refused" else ():
            if tells.of == of and (found := _made_at_source(scene, router, link, tells)) is not None:
                yield found


def _made_at_source(scene: Scene, router: str, link: Link, tells: OfLink) -> Candidate | None:
    rise, within = _rises(scene, link.series, tells.counter)
    named = scene.refused.get(tells.cause, 0)
    if not named or not (rise.outer or rise.inner):
        return None
    back = back_of_ours = 0
    known = True
    for further in _ways_out(scene, router):
        came, came_within = _rises(scene, further.series, tells.counter)
        known = known and came.outer is not None
        back += came.outer or came.inner
        if further.kind == "end":
            back_of_ours += scene.span.lower(came, came_within, tells.of)
    risen = rise.inner if rise.outer is None else rise.outer
    upper = max(0, (named if rise.outer is None else min(named, risen)) - back_of_ours)
    lower = max(0, scene.span.lower(rise, within, tells.of) - back) if known else 0
    return Candidate(
        *("router", router, "", tells.of, tells.cause, min(lower, upper), upper, "counted"),
        likely=max(0, risen - back),
        exact=rise.still and scene.span.sure and known,
        shared=not scene.span.sure or upper > risen - back,
        evidence=[_said(rise, tells.cause, f"on {router}'s link from the sender")],
    )


def _ways_out(scene: Scene, router: str) -> Iterator[Link]:
    """Yield the links on which a router passes this path's messages on."""
    yield from (link for name, link in scene.network.ends(scene.place.sent_to, "out") if name == router)
    history = scene.network.routers.get(router)
    for link in history.links.values() if history else ():
        if link.kind == "router" and link.direction == "out":
            yield link


def _between_routers(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """Counters of links between routers: they are of all traffic, so upper bounds."""
    for one, other in scene.route.links:
        if of == "lost":
            dropped = _risen(scene, scene.network.between(one, other), OUT[0])
            if dropped.likely:
                yield Candidate(
                    *("link", one, other, of, "dropped", 0, dropped.most, "shared"),
                    likely=dropped.likely,
                    shared=True,
                    evidence=[f"{dropped.text} on {one}'s links to {other}, of all traffic"],
                )
        for tells in IN:
            if tells.of == of and (found := _made_further(scene, one, other, tells)) is not None:
                yield found


def _made_further(scene: Scene, one: str, router: str, tells: OfLink) -> Candidate | None:
    """Return what a router on the way made of what came to it from `one`."""
    came = _risen(scene, scene.network.between(router, one, "in"), tells)
    if not came.likely:
        return None
    ways_out = list(_ways_out(scene, router)) if tells.of == "refused" else []
    to_ends = _risen(scene, [link for link in ways_out if link.kind == "end"], tells)
    upper = None if came.most is None else came.most - to_ends.least
    if tells.of == "refused":
        named = scene.refused.get(tells.cause, 0)
        upper = named if upper is None else min(upper, named)
    if upper is not None and upper <= 0:
        return None
    return Candidate(
        *("router", router, "", tells.of, tells.cause, 0, upper, "shared"),
        likely=max(0, came.likely - _risen(scene, ways_out, tells).likely),
        shared=True,
        evidence=[f"{came.text} on {router}'s links from {one}, of all traffic"],
    )


class _Risen(NamedTuple):
    """How much a counter of several links rose together; `most` None: not all of them tell."""

    least: int
    most: int | None
    text: str

    @property
    def likely(self) -> int:
        return self.least if self.most is None else self.most


def _risen(scene: Scene, links: Iterable[Link], tells: OfLink) -> _Risen:
    span = scene.span
    rises = [link.series.rise(tells.counter, span.from_ns, span.to_ns) for link in links]
    least = sum(rise.inner for rise in rises)
    outers = [rise.outer for rise in rises if rise.outer is not None]
    most = sum(outers) if len(outers) == len(rises) else None
    count = f"at least {least:,}" if most is None else f"{most:,}"
    return _Risen(least, most, f"{count} {COUNTED_AS.get(tells.cause, tells.cause)}")


def _queue(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """What the broker counted of the path's queue and address."""
    place = scene.place
    broker = scene.network.brokers.get(place.via or "")
    if broker is None or place.via is None:
        return
    if of == "refused":
        yield from _refused_by_broker(scene, broker, place.via)
        return
    queue, address = broker.queues.get(scene.route.queue), broker.addresses.get(place.address)
    told = [(queue, scene.route.queue, each, f"by {place.via} in {scene.route.queue}") for each in QUEUE]
    told.append((address, place.address, UNROUTED, f"by {place.via}: the address has no queue"))
    for entity, name, tells, where in told:
        if entity is None:
            continue
        rise, within = _rises(scene, entity.series, tells.counter)
        if rise.inner or rise.outer:
            yield Candidate(
                *("queue", place.via, name, of, tells.cause),
                lower=scene.span.lower(rise, within, of),
                upper=rise.outer,
                how="counted",
                exact=rise.still and scene.span.sure,
                shared=not scene.span.sure,
                evidence=[_said(rise, tells.says, where)],
            )


def _refused_by_broker(scene: Scene, broker: BrokerHistory, via: str) -> Iterator[Candidate]:
    """Without a router between, whoever rejected was the broker."""
    rejected, peers = scene.refused.get("rejected", 0), scene.span.path.sender_peers
    if not rejected or scene.route.sources or scene.network.ends(scene.place.sent_to, "in"):
        return
    limit = max((each.limit_ratio for each in broker.addresses.values()), default=0.0)
    full = f"; its memory limit is used to {limit:.0%}" if limit else ""
    yield Candidate(
        *("queue", via, scene.route.queue, "refused", "rejected"),
        lower=rejected if peers else 0,  # else routers may be between of which nobody tells
        upper=rejected,
        how="counted",
        evidence=[f"{via} rejected {rejected:,} of the sender's messages{full}"],
    )


def _said(rise: Rise, what: str, where: str) -> str:
    count = rise.inner if rise.outer is None else rise.outer
    least = "at least " if rise.outer is None else ""
    return f"{least}{count:,} {COUNTED_AS.get(what, what)} {where}"


def way(link: Link, broker: str | None = None) -> str:
    """Return to or from whom it is; to the broker, where it is one to that of the path."""
    peer = "" if link.own else broker or link.peer
    return f"to {peer or 'the receiver'}" if link.direction == "out" else f"from {peer or 'the sender'}"
