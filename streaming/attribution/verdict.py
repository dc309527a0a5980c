"""Makes the row of an episode: its sums, the hops that explain them, the way, and the sentence."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final, cast

from collectors.contract.attribution_rows import MOST_HOPS, AttributionRow, Hop, Sum
from collectors.contract.events import Event
from streaming.attribution import blocks, losses, passages, waiting
from streaming.attribution.bounds import Weighed, joined, say_the_rest, weigh
from streaming.attribution.candidate import Candidate
from streaming.attribution.causes import EXPIRY_SCAN_NS, Missing
from streaming.attribution.clocks import apart
from streaming.attribution.episodes import Episode
from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows, Window
from streaming.attribution.places import Place
from streaming.attribution.router_history import Link
from streaming.attribution.routes import find_route
from streaming.attribution.scene import Scene
from streaming.attribution.sentence import OTHER_RECEIVER, sentence
from streaming.attribution.shares import Shared, Shares
from streaming.attribution.span import BOUND_NS, Span
from streaming.attribution.told_names import make_printable

GIVEN_UP_NS: Final = 60_000_000_000  # of newer records: after it, polls that lack are not waited for
_MOST_WINDOWS: Final = 1_024
_SUMS: Final[tuple[Missing, ...]] = ("lost", "refused")


class Judge:
    """Judges episodes by what the network told."""

    def __init__(self, network: Network, events: list[Event], shared: Shared) -> None:
        self._network = network
        self._events = events
        self.shares = Shares(shared)
        self.sharing: frozenset[str] = frozenset()  # paths whose address another path has, too

    def row(
        self, name: str, path: PathWindows, place: Place, episode: Episode, now_ns: int
    ) -> AttributionRow | None:
        """Return the episode's row if it says anything else than before."""
        if episode.final and not episode.changed:
            return None
        row = self._made(name, path, place, episode, now_ns)
        make_printable(row)
        text = json.dumps({**row, "made_ns": 0, "revision": 0}, sort_keys=True)
        digest = blake2b(text.encode(), digest_size=16).hexdigest()
        episode.changed = False
        if digest == episode.told or (episode.revision < 0 and _says_nothing(row)):
            return None
        episode.told = digest
        episode.revision += 1
        row["revision"], row["made_ns"] = episode.revision, now_ns
        return row

    def _made(
        self, name: str, path: PathWindows, place: Place, episode: Episode, now_ns: int
    ) -> AttributionRow:
        windows = {start: path.windows[start] for start in episode.starts if start in path.windows}
        row = _empty(name, path, episode, windows)
        if episode.kind == "slow":
            return self._slow(row, path, place, episode)
        suspect = path.suspect if episode.open and not episode.merged_into else 0
        if episode.suspected_ns or (episode.open and episode.starts):
            row["suspect"] = suspect
        if episode.merged_into or (not windows and not row["suspect"]):
            if episode.late and not episode.merged_into:
                row["hops"] = cast("list[Hop]", episode.late)
            row["final"] = episode.final = not episode.open
            row["sentence"] = sentence(row)
            return row
        starts = sorted(windows) or [episode.first_ns]
        span = Span(path, starts, _settle_ns(place), self._sure(name, path, place, starts))
        route = find_route(self._network, path, place, starts[0] - 4 * path.window_ns)
        scene = Scene(
            self._network, place, route, span, _sum_of(windows, "refused"), _sum_of(windows, "lost")
        )
        span.apart = self._apart_clocks(scene)
        scene.branch = frozenset(path.receiver_peers) if place.multicast else frozenset()
        row["final"] = episode.final = self._final(scene, episode, now_ns)
        hops: list[Hop] = []
        rests = blocks.losses(scene) if windows else None
        for of in _SUMS:
            if not row[of]:
                continue
            found = joined(losses.candidates(scene, of))
            if rests is not None and rests.missing <= row[of]:
                found = blocks.sharpened(found, rests, of, row[of])
            weighed = weigh(found, row[of])
            self.shares.divide(name, episode, weighed)
            say_the_rest(weighed, row[of])
            hops += [_hop(one) for one in weighed]
            row[f"unexplained_{of}"] = row[of] - sum(one.said for one in weighed)  # type: ignore[literal-required]
        if row["suspect"]:
            late = waiting.candidates(scene)
            told = [_hop(one) for one in weigh(joined(late), row["suspect"])]
            if row["suspect"] >= episode.suspects and told:
                episode.suspects, episode.late = row["suspect"], [dict(hop) for hop in told]
            hops += told
        row["hops"] = hops[:MOST_HOPS]
        row["route"] = passages.table(scene, row["hops"])
        row["not_exact"] = _not_exact(scene, row)
        self._name_events(row, name)
        row["sentence"] = sentence(row)
        return row

    def _slow(self, row: AttributionRow, path: PathWindows, place: Place, episode: Episode) -> AttributionRow:
        windows = [path.windows[start] for start in episode.starts if start in path.windows]
        if windows:
            slowest = max(windows, key=lambda window: window.slow_ns)
            normal_ns, now_ns = episode.normal_ns, slowest.slow_ns
            row["slow"] = {"percentile": slowest.percentile, "normal_ns": normal_ns, "now_ns": now_ns}
            excess_ns = max(0, now_ns - normal_ns)
            route = find_route(self._network, path, place, episode.starts[0] - 4 * path.window_ns)
            late = waiting.sent_late(slowest, route.sources, excess_ns)
            row["hops"] = sorted(
                [*late, *waiting.slow_hops(episode, excess_ns)], key=lambda hop: -hop["delay_ns"]
            )[:MOST_HOPS]
        row["final"] = episode.final = not episode.open
        self._name_events(row, row["path"])
        row["sentence"] = sentence(row)
        return row

    def _sure(self, name: str, path: PathWindows, place: Place, starts: list[int]) -> bool:
        """Return whether what links of its addresses count is this path's alone, and all is known."""
        others = [
            link for _, link in self._network.ends(place.sent_to, "in") if not link.own and link.deliveries
        ]
        if others and place.via is None:
            return False
        if place.warmup and starts[0] - path.first_ns < GIVEN_UP_NS:
            return False
        return name not in self.sharing

    def _apart_clocks(self, scene: Scene) -> bool:
        """Return whether clocks of the path's probes and of a collector on its way are too far apart."""
        routers = [self._network.routers.get(router) for router in scene.route.stops]
        histories = [*routers, self._network.brokers.get(scene.place.via or "")]
        span = scene.span
        return any(
            apart(span.path.lateness, history.lateness, span.from_ns, span.to_ns)
            for history in histories
            if history is not None
        )

    def _final(self, scene: Scene, episode: Episode, now_ns: int) -> bool:
        """Return whether all polls that can say anything are in, or have been waited for."""
        if episode.open or not episode.starts:
            return False
        needed_ns = scene.span.to_ns + scene.place.interval_ns
        if now_ns > needed_ns + GIVEN_UP_NS:
            return True
        newest_ns = max(scene.span.path.windows, default=0) + scene.span.path.window_ns
        routers = [self._network.routers.get(router) for router in scene.route.stops]
        told = [
            min((polled.asked_ns for polled in router.polled.values()), default=0)
            for router in routers
            if router
        ]
        broker = self._network.brokers.get(scene.place.via or "")
        if broker is not None:
            told.append(broker.heard_ns)
        # The poll that closes may have counted what was sent until then: those windows have to be known.
        known_ns = needed_ns + 2 * BOUND_NS
        return now_ns > needed_ns and newest_ns >= known_ns and all(at > needed_ns for at in told)

    def _name_events(self, row: AttributionRow, path: str) -> None:
        """Say at the first hop what was done on purpose meanwhile."""
        if not row["hops"]:
            return
        done = [
            event
            for event in self._events
            if event.concerns(path) and event.covers(row["from_ns"] - 30 * 10**9, row["to_ns"])
        ]
        for event in list({event.key: event for event in done}.values())[:2]:
            text = f"marked {event.kind}: {event.text or f'{event.do} {event.what}'}"
            row["hops"][0]["evidence"] = [*row["hops"][0]["evidence"], text[:512]][:16]


def _settle_ns(place: Place) -> int:
    """Return how long after its send a message may still be lost: in a queue until it is looked for."""
    return place.settle_ns + (EXPIRY_SCAN_NS if place.via is not None else 0)


def _sum_of(windows: dict[int, Window], of: Missing) -> dict[str, int]:
    found: dict[str, int] = {}
    for window in windows.values():
        for reason, count in (window.lost if of == "lost" else window.refused).items():
            found[reason] = found.get(reason, 0) + count
    return found


def _hop(one: Weighed) -> Hop:
    candidate: Candidate = one.candidate
    of: Sum = candidate.of
    return {
        "hop": candidate.hop,
        "kind": candidate.kind,
        "at": candidate.at,
        "to": candidate.to,
        "of": of,
        "cause": candidate.cause,
        "lower": one.lower,
        "upper": one.upper,
        "said": one.said,
        "exact": one.exact,
        "shared": candidate.shared,
        "delay_ns": 0,
        "evidence": [text[:512] for text in candidate.evidence[:14]],
    }


def _says_nothing(row: AttributionRow) -> bool:
    return not (row["lost"] or row["refused"] or row["suspect"] or row["slow"])


def _not_exact(scene: Scene, row: AttributionRow) -> str:
    if any(hop["exact"] for hop in row["hops"]) or not (row["lost"] or row["refused"]):
        return ""
    if not scene.route.stops:
        return "no router or broker on the way is known: nothing polls them"
    strangers = _strangers(scene)
    unobserved = any(window.unobserved for window in scene.span.path.windows.values())
    reasons = (
        (bool(strangers), f"{OTHER_RECEIVER}{', '.join(strangers)}"),
        (not scene.span.sure, "its address has other traffic, or a window's sums are in doubt"),
        (
            scene.span.apart,
            "clocks of its probes and of a collector are more than 1 s apart, or what they tell came late",
        ),
        (row["open"], "it goes on"),
        (unobserved, "nobody watched for some of the messages"),
        (True, "its counters did not stand still before and after, or are of other traffic, too"),
    )
    return next(why for holds, why in reasons if holds)


def _strangers(scene: Scene) -> list[str]:
    """Return the routers at which a receiver that is not ours was attached: no counter tells what it took."""
    place = scene.place
    if place.via is not None or place.multicast:
        return []
    links = scene.network.ends(place.sent_to, "out")
    return sorted({router for router, link in links if not link.own and _takes(link, scene.span)})[:8]


def _takes(link: Link, span: Span) -> bool:
    there = link.asked_ns >= span.from_ns and (not link.gone_ns or link.gone_ns > span.from_ns)
    return there and link.deliveries > 0


def _empty(name: str, path: PathWindows, episode: Episode, windows: dict[int, Window]) -> AttributionRow:
    values: list[Window] = list(windows.values())
    starts = sorted(windows) or [episode.first_ns]
    lost, refused = (sum(sum(getattr(window, of).values()) for window in values) for of in _SUMS)
    row: dict[str, Any] = {
        "v": 1,
        "mesh": path.mesh,
        "path": name,
        "address": path.address,
        "kind": episode.kind,
        "episode_ns": episode.first_ns,
        "revision": 0,
        "final": False,
        "open": episode.open,
        "continued": episode.continued,
        "merged_into": episode.merged_into or None,
        "from_ns": starts[0],
        "to_ns": starts[-1] + path.window_ns,
        "made_ns": 0,
        "windows": [
            {"start_ns": start, "revision": windows[start].revision}
            for start in sorted(windows)[:_MOST_WINDOWS]
        ],
        "sent": sum(window.sent for window in values),
        "lost": lost if episode.kind == "loss" else 0,
        "refused": refused if episode.kind == "loss" else 0,
        "unobserved": sum(window.unobserved for window in values),
        "unsent": sum(window.unsent for window in values),
        "suspect": 0,
        "hops": [],
        "unexplained_lost": lost if episode.kind == "loss" else 0,
        "unexplained_refused": refused if episode.kind == "loss" else 0,
        "route": [],
        "not_exact": "",
        "slow": None,
        "sentence": "",
    }
    return row  # type: ignore[return-value]
