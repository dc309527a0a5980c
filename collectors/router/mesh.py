"""What is known of a mesh over many polls, and what each poll makes of it: samples, records, a view."""

from __future__ import annotations

import functools
import logging
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from collectors.config.model import Mesh
from collectors.contract.topics import ROUTER
from collectors.polling.context import PollContext
from collectors.router import metrics, records
from collectors.router.counters import Tallied, Tally
from collectors.router.eyes import CutOff, Eyes
from collectors.router.poll import Asked, Kind, Known, Poll
from collectors.router.replies import Table
from collectors.router.schema import FLAVOURS, Flavour
from collectors.router.snapshot import RouterView, view
from collectors.router.topology import Graph, Topology

_log: Final = logging.getLogger("inflight.collect")

FORGET_NS: Final = 900_000_000_000  # a router that went is told as down for so long
STALE_INTERVALS: Final = 3
SELDOM_POLLS: Final = 6  # as often is asked for entities that hardly change
MAX_PAIRS: Final = 2000
MAX_TOLD: Final = 1000
OTHERS: Final = ("_other", "_other")


@dataclass(slots=True)
class Watched:
    """One router over many polls."""

    kind: Kind
    flavour: Flavour
    tally: Tally
    heard_ns: int
    unnamed: frozenset[str] = frozenset()
    seldom: dict[str, Table] = field(default_factory=dict)
    rested: int = SELDOM_POLLS  # polls since the seldom ones were asked for
    failure: str | None = None
    cut_off: str | None = None  # as it has been told
    view: RouterView | None = None  # what it said last, and what that came to
    tallied: Tallied | None = None

    def forget_seldom(self) -> None:
        """Ask for everything in the next poll."""
        self.seldom = {}
        self.rested = SELDOM_POLLS


@dataclass(slots=True)
class MeshView:
    """A mesh after a poll: the routers that answer, why others do not, and the graph."""

    mesh: str
    at_ns: int
    interval_ns: int
    views: dict[str, RouterView] = field(default_factory=dict)
    tallied: dict[str, Tallied] = field(default_factory=dict)
    polled: set[str] = field(default_factory=set)  # those of `views` that are of this very poll
    down: dict[str, str] = field(default_factory=dict)
    cut_off: dict[str, CutOff] = field(default_factory=dict)  # of those in `views`
    urls: dict[str, str | None] = field(default_factory=dict)  # why nothing is seen through one
    graph: Graph = field(default_factory=Graph)
    settled: bool = True  # each URL has been tried, and each router's rates are known
    failure: str | None = None  # why the mesh as a whole could not be polled


class MeshState:
    """Fed by the collector, from a thread for each URL."""

    def __init__(self, name: str, mesh: Mesh, context: PollContext, seen: Callable[[MeshView], None]) -> None:
        self._name = name
        self._mesh = mesh
        self._context = context
        self._seen = seen
        self._lock = threading.Lock()
        self._watched: dict[str, Watched] = {}
        self._eyes = Eyes(mesh.urls)
        self._topology = Topology(mesh.expect)
        self._between: dict[tuple[str, str], int] = {}
        self._polls = 0
        self._told: deque[str] = deque(maxlen=MAX_TOLD)

    def begin(self, flavour: Flavour, tags: Iterator[int], eye: int = 0, local: str | None = None) -> Poll:
        """The next poll through a URL; `local` is the router there, once it is known."""
        with self._lock:
            known = {router: Known(w.kind, w.flavour, w.unnamed) for router, w in self._watched.items()}
            default = known[local].flavour if local in known else flavour
            rested = {router for router, w in self._watched.items() if w.rested < SELDOM_POLLS}
            return Poll(default, known, tags, local, rested, self._eyes.scope(eye))

    def end(self, poll: Poll, at_ns: int, steady_ns: int, eye: int = 0) -> None:
        """Take in a poll whose local router answered."""
        with self._lock:
            self._eyes.took(eye, poll)
            seen = MeshView(self._name, at_ns, self._mesh.interval, urls=self._eyes.failures)
            for router, asked in poll.asked.items():
                watched = self._watch(router, asked)
                if router in poll.heard or asked.result == "ok":
                    watched.heard_ns = steady_ns
                if not asked.whole:
                    continue
                self._context.poll_metrics.count_result(
                    ("router", f"{self._name}/{router}"), asked.result, asked.faults
                )
                if asked.failure is None and self._eyes.polls(eye, router):
                    self._answered(router, asked, watched, seen, steady_ns)
            self._tell(poll)
            if seen.polled:  # otherwise it was a look through a spare URL
                self._judge(seen, steady_ns)
                self._show(seen, poll.omitted)
                self._publish(seen)

    def lost(self, at_ns: int, steady_ns: int, reason: str, eye: int = 0) -> None:
        """Nothing is seen through a URL: once it is so for all of them, nothing of the mesh is known."""
        with self._lock:
            self._eyes.shut(eye, reason)
            if not self._eyes.all_shut:
                return  # the others' next polls tell which of its routers they reach
            reasons = "; ".join(dict.fromkeys(why or "" for why in self._eyes.failures.values()))
            seen = MeshView(self._name, at_ns, self._mesh.interval, urls=self._eyes.failures, failure=reasons)
            self._forget_silent(steady_ns)
            for router, watched in self._watched.items():
                self._down(router, watched, reasons, seen)
            seen.graph.routers = dict.fromkeys(seen.down, False)
            down = [("router_up", (self._name, router), 0.0) for router in seen.down]
            self._context.cache.put(
                self._name, [("mesh_up", (self._name,), 0.0), *metrics.of_urls(self._name, seen.urls), *down]
            )
            self._context.publish(ROUTER, records.of_mesh(self._context.site, seen, self._polls))
            self._seen(seen)

    def _judge(self, seen: MeshView, steady_ns: int) -> None:
        """Which routers are up, down, or up and cut off, by what all URLs have shown."""
        self._forget_silent(steady_ns)
        for router, watched in self._watched.items():
            reason = self._eyes.down(router)
            if reason is not None:
                if watched.failure is None:
                    _log.warning("mesh %s: router %s is down: %s", self._name, router, reason)
                self._down(router, watched, reason, seen)
            elif watched.view is not None and watched.tallied is not None:
                seen.views[router], seen.tallied[router] = watched.view, watched.tallied
                if cut_off := self._eyes.cut_off(router):
                    seen.cut_off[router] = cut_off
                    if watched.cut_off != cut_off.text:
                        _log.warning("mesh %s: %s", self._name, f"router {router} is {cut_off.explained}")
                watched.cut_off = cut_off.text if cut_off else None
        seen.graph = self._topology.feed(seen.views, seen.down, steady_ns)
        known = {router for router, tallied in seen.tallied.items() if tallied.interval_ns}
        seen.settled = not self._eyes.untried and self._watched.keys() == seen.down.keys() | known

    def _publish(self, seen: MeshView) -> None:
        self._polls += 1
        for record in records.records(self._context.site, seen, self._polls):
            self._context.publish(ROUTER, record)
        self._seen(seen)

    def _watch(self, router: str, asked: Asked) -> Watched:
        watched = self._watched.get(router)
        if watched is None:
            watched = self._watched[router] = Watched(
                asked.kind, asked.flavour, Tally(self._mesh.addresses), 0
            )
            self._context.poll_metrics.add_target(("router", f"{self._name}/{router}"))
        return watched

    def _answered(self, router: str, asked: Asked, watched: Watched, seen: MeshView, steady_ns: int) -> None:
        found = view(asked, seen.at_ns, steady_ns, watched.seldom)
        if watched.view is not None and found.steady_ns <= watched.view.steady_ns:
            return  # another URL's poll was later, and over before this one
        tallied = watched.tally.feed(found)
        self._remember(router, asked, watched, restarted=tallied.restarted)
        watched.flavour = FLAVOURS[found.flavour]
        watched.kind = "edge" if found.edge else "interior"
        watched.view, watched.tallied = found, tallied
        seen.polled.add(router)
        for ingress, count in tallied.ingress.items():
            between = (ingress, router)
            if between not in self._between and len(self._between) >= MAX_PAIRS:
                between = OTHERS
            self._between[between] = self._between.get(between, 0) + count
        if watched.failure is not None:
            _log.info("mesh %s: router %s answers again", self._name, router)
        elif tallied.restarted:
            _log.info("mesh %s: router %s has restarted", self._name, router)
        watched.failure = None

    def _remember(self, router: str, asked: Asked, watched: Watched, *, restarted: bool) -> None:
        """Keep what will not be asked for in the next polls, unless it is of a router before its restart."""
        watched.unnamed = asked.unnamed
        seldom = [entity for entity in asked.flavour.entities if entity.seldom]
        fresh = {entity.name: asked.tables[entity.name] for entity in seldom if entity.name in asked.tables}
        if fresh:
            # Not all routers in the same poll: each has a turn of its own.
            watched.rested = 0 if watched.seldom else zlib.crc32(router.encode()) % SELDOM_POLLS
            watched.seldom = fresh
        elif restarted:
            watched.forget_seldom()
        watched.rested += 1

    def _down(self, router: str, watched: Watched, reason: str, seen: MeshView) -> None:
        watched.forget_seldom()
        watched.view = watched.tallied = watched.cut_off = None
        watched.failure = reason
        seen.down[router] = reason
        self._context.cache.drop((self._name, router))

    def _forget_silent(self, steady_ns: int) -> None:
        for router in [r for r, w in self._watched.items() if steady_ns - w.heard_ns > FORGET_NS]:
            del self._watched[router]
            self._eyes.forget(router)
            self._context.cache.drop((self._name, router))
            self._context.poll_metrics.remove_target(("router", f"{self._name}/{router}"))

    def _tell(self, poll: Poll) -> None:
        """Each kind of fault once, and once more only when a thousand others came between."""
        for note in poll.notes:
            kind = note.split(": ", 2)[0:2]
            told = " ".join(kind)
            if told not in self._told:
                self._told.append(told)
                _log.warning(
                    "mesh %s: %s (told once; counted in inflight_collector_bad_replies_total)",
                    self._name,
                    note,
                )

    def _show(self, seen: MeshView, omitted_routers: int) -> None:
        for_seconds = STALE_INTERVALS * self._mesh.interval / 1e9
        cache = self._context.cache
        omitted = {"router": omitted_routers, "link_group": 0, "address": 0}
        for router, found in seen.views.items():
            tallied = seen.tallied[router]
            for entity, count in tallied.omitted.items():
                omitted[entity] += count
            if router not in seen.polled:
                continue
            cache.put(
                (self._name, router),
                functools.partial(metrics.of_router, self._name, found, tallied, self._mesh.links),
                for_seconds,
            )
        cache.put(
            self._name,
            [
                ("mesh_up", (self._name,), 1.0),
                *metrics.of_mesh(self._name, seen.graph, self._between),
                *metrics.of_urls(self._name, seen.urls),
                *metrics.of_cut_off(self._name, seen.cut_off),
                *(
                    ("collector_omitted_series", ("router", self._name, entity), float(count))
                    for entity, count in omitted.items()
                ),
            ],
            for_seconds,
        )
