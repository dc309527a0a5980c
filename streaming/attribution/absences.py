"""Who was not there in an episode: a router, a link, a broker, an end's link. What goes so, nobody counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streaming.attribution.candidate import Candidate, HopKind, How
from streaming.attribution.causes import Missing
from streaming.attribution.mesh_history import MeshHistory, Outages
from streaming.attribution.router_history import RouterHistory
from streaming.attribution.scene import RECEIVER, SENDER, Scene

# Of several that are absent at once, the surer goes first.
_RESTARTED: Final = 4  # another instance answered afterwards
_BESIDE: Final = 3  # a neighbour that answers has lost its link to it
_LINK: Final = 2
_SILENT: Final = 1  # it does not answer, and may only be behind another one

# One that answers again as the instance that it was had stood still where so many neighbours, which answered
# all the time, had lost their links to it; else only a link was down, and it was out of reach.
_STOOD_STILL: Final = 2

BOUND_POLL_NS: Final = 10_000_000_000  # a link that went is missed by the next poll


def candidates(scene: Scene, of: Missing) -> Iterator[Candidate]:
    """Yield routers and links on the way, the broker, and links of ends that went."""
    gone = dict(_routers(scene))
    for router, (weight, text) in gone.items():
        yield _candidate("router", router, "", of, weight, text)
    for one, other in scene.route.links:
        outages = _link(scene, one, other)
        if one in gone or other in gone or outages is None:
            continue
        span = outages.meets(scene.span.from_ns, scene.span.to_ns)
        if span is not None:
            yield _candidate("link", one, other, of, _LINK, f"the link {one} – {other} was down{_for(span)}")
    yield from _broker(scene, of)
    yield from _ends(scene, of, gone)


def _routers(scene: Scene) -> Iterator[tuple[str, tuple[int, str]]]:
    span = scene.span
    for router in scene.route.stops:
        history = scene.network.routers.get(router)
        restarts = history.restarts if history else []
        if any(at[0] < span.to_ns and at[1] > span.from_ns for at in restarts):
            yield router, (_RESTARTED, f"{router} was started anew: another instance answers")
            continue
        outages = _outages(scene, router)
        absent = outages.meets(span.from_ns, span.to_ns) if outages else None
        if outages is None or absent is None:
            continue
        beside = [
            one if other == router else other
            for one, other in _links_of(scene, router)
            if (link := _link(scene, one, other)) is not None and link.meets(span.from_ns, span.to_ns)
        ]
        reached = [name for name in beside if _answers(scene, name)]
        if absent[1] and history is not None and _same_instance(history, absent):
            watching = [name for name in reached if _answered_all_the_time(scene, name)]
            if len(watching) < _STOOD_STILL:
                continue  # it had only been out of reach
            reached = watching
        text = f"{router} did not answer{_for(absent)}"
        if outages.reason and not absent[1]:
            text += f": {outages.reason}"
        if reached:
            yield router, (_BESIDE, f"{text}; {', '.join(sorted(reached))} had no link to it")
        else:
            yield router, (_SILENT, text)


def _outages(scene: Scene, router: str) -> Outages | None:
    for mesh in _meshes(scene):
        if router in mesh.routers:
            return mesh.routers[router]
    return None


def _link(scene: Scene, one: str, other: str) -> Outages | None:
    return next((found for mesh in _meshes(scene) if (found := mesh.link(one, other)) is not None), None)


def _meshes(scene: Scene) -> Iterator[MeshHistory]:
    yield from (scene.network.meshes[name] for name in scene.place.meshes if name in scene.network.meshes)


def _links_of(scene: Scene, router: str) -> list[tuple[str, str]]:
    return [link for link in scene.route.links if router in link]


def _answers(scene: Scene, router: str) -> bool:
    outages = _outages(scene, router)
    return outages is not None and outages.up


def _answered_all_the_time(scene: Scene, router: str) -> bool:
    outages = _outages(scene, router)
    return outages is not None and outages.meets(scene.span.from_ns, scene.span.to_ns) is None


def _same_instance(history: RouterHistory, absent: list[int]) -> bool:
    """Return whether it answered again after that time as the one that it was."""
    return history.heard_ns >= absent[1] and not any(
        at[0] <= absent[1] and at[1] >= absent[0] for at in history.restarts
    )


def _broker(scene: Scene, of: Missing) -> Iterator[Candidate]:
    broker = scene.network.brokers.get(scene.place.via or "")
    if broker is None or scene.place.via is None:
        return
    span = scene.span
    for kind, spans in (("was started anew", broker.restarts), ("did not answer", broker.absences)):
        met = next((at for at in spans if at[0] < span.to_ns and (not at[1] or at[1] > span.from_ns)), None)
        if met is not None:
            text = f"{scene.place.via} {kind}{_for(met)}"
            yield _candidate("queue", scene.place.via, scene.route.queue, of, _RESTARTED, text)
            return


def _ends(scene: Scene, of: Missing, gone: dict[str, tuple[int, str]]) -> Iterator[Candidate]:
    """Yield links of senders and receivers that went; what was not settled then is lost or given back."""
    span, place = scene.span, scene.place
    for addresses, direction in ((place.sent_to, "in"), ((*place.sent_to, place.receive_address), "out")):
        told: set[str] = set()
        for router, link in scene.network.ends(addresses, direction):
            went = link.gone_ns and span.from_ns < link.gone_ns <= span.to_ns + BOUND_POLL_NS
            if not went or router in gone or router in told:
                continue
            if not link.own:
                if place.via is not None and direction == "out":
                    told.add(router)
                    yield _candidate(
                        "end", router, place.via, of, _LINK, f"{router}'s link to {place.via} went"
                    )
                continue
            told.add(router)
            at, to, whose = (
                (SENDER, router, "sender") if direction == "in" else (router, RECEIVER, "receiver")
            )
            found = _candidate("end", at, to, of, _SILENT, f"the {whose}'s link to {router} went")
            if direction == "in" and of == "lost":
                found.upper = scene.lost.get("unsettled", 0) + scene.lost.get("presettled", 0)
            yield found
    unsettled = scene.lost.get("unsettled", 0)
    if of == "lost" and unsettled and not gone:
        for router in scene.route.sources[:1]:
            found = _candidate(
                "end", SENDER, router, of, 0, f"{unsettled:,} had no outcome when the link went"
            )
            found.upper = unsettled
            yield found


def _candidate(kind: HopKind, at: str, to: str, of: Missing, weight: int, text: str) -> Candidate:
    how: How = "absent" if weight > _SILENT else "suspected"
    return Candidate(kind, at, to, of, "gone", 0, None, how, weight=weight, evidence=[text])


def _for(span: list[int]) -> str:
    if not span[1]:
        return ", and still does not" if span[0] else ""
    return f" for {(span[1] - span[0]) / 1e9:.0f} s"
