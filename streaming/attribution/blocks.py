"""Sums that are exact: what a path's addresses counted between two times at which they stood still.

Of a marked path each block of a colour is such a time; of any other path, an episode between two rests. All
that came in at a router went out again or was lost there, so neighbours' counters tell each hop's loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from collectors.contract.attribution_rows import Cause
from streaming.attribution.candidate import ORDER, Candidate, HopKind, hop_text
from streaming.attribution.causes import Missing
from streaming.attribution.path_windows import Window
from streaming.attribution.router_history import EGRESS, INGRESS, PLACE_OF, TRANSIT, RouterHistory
from streaming.attribution.scene import RECEIVER, SENDER, Scene
from streaming.attribution.sentence import clock
from streaming.attribution.series import Values
from streaming.attribution.span import BOUND_NS

_COLOURS: Final = 2
_MERGED: Final = 3  # blocks of a colour that are taken together where something still waited between two


class _Block(NamedTuple):
    """A time of an address: it stood still from `open_ns` to before, and from after to `close_ns`."""

    address: str
    open_ns: int
    from_ns: int
    to_ns: int
    close_ns: int


Key = tuple[HopKind, str, str]  # of a hop: its kind, at and to
Exact = dict[Key, int]  # lost there


class Rests(NamedTuple):
    """What each hop lost between rests, and how many of the episode's missing messages that explains."""

    lost: Exact
    missing: int
    until_ns: int


def losses(scene: Scene) -> Rests | None:
    """Return what each hop of the way lost, as far as it can be told exactly; None where nothing can."""
    place, span = scene.place, scene.span
    known = span.sure and not span.apart and scene.route.line
    if place.via is not None or place.multicast or not known:
        return None
    if not place.marking_ns:
        rest = _Block(place.address, 0, span.from_ns, span.to_ns, 1 << 62)
        return _of_block(scene, rest, [(span.sent_from_ns, span.sent_to_ns)])
    told = [block for colour in range(_COLOURS) for block in _of_colour(scene, colour)]
    lost: Exact = {}
    for block in told:
        for hop, count in block.lost.items():
            lost[hop] = lost.get(hop, 0) + count
    until_ns = max((block.until_ns for block in told), default=0)
    return Rests(lost, sum(block.missing for block in told), until_ns) if told else None


def _of_colour(scene: Scene, colour: int) -> Iterator[Rests]:
    """Yield a colour's blocks with windows of the episode, merged where they do not add up alone."""
    length = scene.place.marking_ns
    first, last = scene.span.sent_from_ns // length, (scene.span.sent_to_ns - 1) // length
    numbers = [number for number in range(first, last + 1) if number % _COLOURS == colour]
    while numbers:
        for many in range(1, min(_MERGED, len(numbers)) + 1):
            taken = numbers[:many]
            block = _Block(
                scene.place.sent_to[colour],
                (taken[0] - 1) * length + BOUND_NS,
                taken[0] * length - BOUND_NS,
                (taken[-1] + 1) * length + BOUND_NS,
                (taken[-1] + 2) * length - BOUND_NS,
            )
            found = _of_block(scene, block, [(number * length, (number + 1) * length) for number in taken])
            if found is not None:
                yield found
                break
        else:
            many = 1
        numbers = numbers[many:]


def _of_block(scene: Scene, block: _Block, sent: list[tuple[int, int]]) -> Rests | None:
    windows = _windows(scene, sent)
    if windows is None or _ends_changed(scene, block):
        return None
    rises: dict[str, Values] = {}
    for router in scene.route.stops:
        history = scene.network.routers.get(router)
        rise = _rise(history, block) if history else None
        if history is None or rise is None or _waits(scene, history, block):
            return None
        rises[router] = rise
    found = _balance(scene, rises, windows, block)
    missing = sum(window.missing for window in windows)
    if found is None or any(count < 0 for count in found.values()) or sum(found.values()) != missing:
        return None
    return Rests({hop: count for hop, count in found.items() if count}, missing, sent[-1][1])


def _ends_changed(scene: Scene, block: _Block) -> bool:
    """Return whether an end came or went: addresses were then removed, and made anew under the same key."""
    links = [
        link
        for direction in ("in", "out")
        for _, link in scene.network.ends((block.address,), direction)
        for at_ns in (link.born_ns, link.gone_ns)
        if block.from_ns <= at_ns <= block.close_ns
    ]
    return bool(links)


def _windows(scene: Scene, sent: list[tuple[int, int]]) -> list[Window] | None:
    """Return all windows of the block; None where one is not known, in doubt, or another episode's."""
    found: list[Window] = []
    for from_ns, to_ns in sent:
        windows = scene.span.path.between(from_ns, to_ns)
        if windows is None:
            return None
        found += windows
    ours = {id(scene.span.path.windows[start]) for start in scene.span.starts}
    lost, refused = (any(getattr(window, of) for window in found) for of in ("lost", "refused"))
    for window in found:
        if window.unsure or window.unobserved or window.beside or (window.missing and id(window) not in ours):
            return None
    return None if lost and refused else found


def _rise(history: RouterHistory, block: _Block) -> Values | None:
    """Return how much the address's counters rose in the block at one router, over all phases."""
    total: Values | None = None
    for row in history.of_address(block.address):
        before = row.series.standing(block.open_ns, block.from_ns, polls=1)
        after = row.series.standing(block.to_ns, block.close_ns, polls=2)
        if before is None or after is None or not row.series.unbroken(block.from_ns, block.close_ns):
            return None
        rise = tuple(new - old for new, old in zip(after, before, strict=True))
        total = rise if total is None else tuple(a + b for a, b in zip(total, rise, strict=True))
    return total


def _waits(scene: Scene, history: RouterHistory, block: _Block) -> bool:
    """Return whether something still waited between this router and the next when the block was over."""
    nexts = {other for one, other in scene.route.links if one == history.router}
    return any(
        link.held_at(block.to_ns)
        for link in history.links.values()
        if link.kind == "router" and link.direction == "out" and link.peer in nexts
    )


def _balance(scene: Scene, rises: dict[str, Values], windows: list[Window], block: _Block) -> Exact | None:
    """Return what came in and did not go on, by hop along a line of routers."""
    sent = sum(window.sent for window in windows)
    missing = sum(window.missing for window in windows)
    source = scene.route.sources[0]
    first = rises[source]
    passed = first[TRANSIT] + first[EGRESS]
    # What had no way on counts as ingress where a router further on still had subscribers, else not: so how
    # many these were is told by the senders' links.
    refused = any(window.refused for window in windows)
    no_way = _no_way(scene, source, block, refused=refused)
    if no_way not in {0, sent - passed}:
        return None
    found: Exact = {
        ("end", SENDER, source): sent - passed - no_way,
        ("router", source, ""): no_way,
    }
    for one, other in scene.route.links:
        arrived = rises[other][TRANSIT] + rises[other][EGRESS] - rises[other][INGRESS]
        found["link", one, other] = rises[one][TRANSIT] - arrived
    target = scene.route.targets[0] if scene.route.targets else scene.route.stops[-1]
    found["end", target, RECEIVER] = sum(rise[EGRESS] for rise in rises.values()) - (sent - missing)
    return found


def _no_way(scene: Scene, source: str, block: _Block, *, refused: bool) -> int:
    """Return how many the first router dropped, or gave back and had not got back itself."""
    counters = [PLACE_OF[name] for name in (("released", "modified") if refused else ("dropped_presettled",))]
    links = [
        link for router, link in scene.network.ends((block.address,), "in") if router == source and link.own
    ]
    rises = [
        link.series.rise(place, block.from_ns, block.to_ns).outer for link in links for place in counters
    ]
    return sum(rise or 0 for rise in rises)


def sharpened(found: list[Candidate], rests: Rests, of: Missing, missing: int) -> list[Candidate]:
    """Return the candidates with these sums in their bounds, and the hops that none of them names."""
    left = dict(rests.lost)
    later = missing - rests.missing  # of these nothing is known by rests
    sharp: list[Candidate] = []
    for one in sorted(found, key=lambda one: ORDER[one.how]):
        count = left.pop((one.kind, one.at, one.to), 0)
        upper = count + later if one.upper is None else min(one.upper, count + later)
        if count:
            evidence = [*one.evidence, _said((one.kind, one.at, one.to), count, rests, later)]
            lower = max(count, one.lower)
            more: dict[str, Any] = {"evidence": evidence, "how": "counted", "exact": not later}
            sharp.append(replace(one, lower=lower, upper=max(lower, upper), shared=False, **more))
        elif upper:
            sharp.append(replace(one, lower=min(one.lower, upper), upper=upper))
    for key, count in left.items():
        lost: Cause = "no_route" if key[0] == "router" else "dropped"
        cause: Cause = lost if of == "lost" else "released"
        evidence = [_said(key, count, rests, later)]
        sharp.append(
            Candidate(*key, of, cause, count, count + later, "counted", exact=not later, evidence=evidence)
        )
    return sharp


def _said(key: Key, count: int, rests: Rests, later: int) -> str:
    until = f" until {clock(rests.until_ns)}" if later else ""
    return (
        f"exactly {count:,} more came to {hop_text(*key)} than went on{until}: between rests of its address"
    )
