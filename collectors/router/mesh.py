"""What is known of a mesh over many polls; each poll is shown as metrics and published as records."""

from __future__ import annotations

import functools
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from collectors.config.model import Mesh
from collectors.contract.metrics import MetricValue
from collectors.contract.topics import ROUTER
from collectors.polling.context import PollContext
from collectors.polling.target import STALE_INTERVALS, FaultLog, log
from collectors.router import metrics, records
from collectors.router.asked import AskedRouter, Kind, KnownRouter
from collectors.router.counters import CountedRouter, RouterCounters
from collectors.router.mesh_status import MeshStatus
from collectors.router.mesh_urls import MeshUrls
from collectors.router.poll import Poll
from collectors.router.replies import Table
from collectors.router.schema import FLAVOURS, Flavour
from collectors.router.snapshot import RouterSnapshot, take_snapshot
from collectors.router.topology import Topology

FORGET_NS: Final = 900_000_000_000  # a router that went is told as down for so long
SELDOM_POLLS: Final = 6  # entities that hardly change are asked for once in so many polls
MAX_PAIRS: Final = 2000
OTHERS: Final = ("_other", "_other")


@dataclass(slots=True)
class WatchedRouter:
    """What is kept of one router between polls."""

    kind: Kind
    flavour: Flavour
    counters: RouterCounters
    heard_ns: int
    unnamed: frozenset[str] = frozenset()
    seldom: dict[str, Table] = field(default_factory=dict)
    rested: int = SELDOM_POLLS  # polls since `seldom` was asked for
    failure: str | None = None
    cut_off: str | None = None  # as it has been told
    snapshot: RouterSnapshot | None = None  # of its last poll
    counted: CountedRouter | None = None

    def forget_seldom(self) -> None:
        """Have the next poll ask for everything."""
        self.seldom = {}
        self.rested = SELDOM_POLLS


class MeshState:
    """Given each poll by the collector, from a thread for each URL."""

    def __init__(
        self, name: str, mesh: Mesh, context: PollContext, on_status: Callable[[MeshStatus], None]
    ) -> None:
        self._name = name
        self._mesh = mesh
        self._context = context
        self._addresses = context.addresses.get(name, frozenset())
        self._on_status = on_status
        self._lock = threading.Lock()
        self._watched: dict[str, WatchedRouter] = {}
        self._urls = MeshUrls(mesh.urls)
        self._topology = Topology(mesh.expect)
        self._between: dict[tuple[str, str], int] = {}
        self._polls = 0
        self._run = secrets.token_hex(8)
        self._faults = FaultLog(f"mesh {name}")

    def begin(self, flavour: Flavour, tags: Iterator[int], number: int = 0, local: str | None = None) -> Poll:
        """Return the next poll through a URL, by its number; `local` is the router there, once known."""
        with self._lock:
            known = {router: KnownRouter(w.kind, w.flavour, w.unnamed) for router, w in self._watched.items()}
            default = known[local].flavour if local in known else flavour
            rested = {router for router, w in self._watched.items() if w.rested < SELDOM_POLLS}
            return Poll(default, known, tags, local, rested, self._urls.scope(number))

    def end(self, poll: Poll, at_ns: int, steady_ns: int, number: int = 0) -> None:
        """Take in a poll whose local router answered."""
        with self._lock:
            self._urls.polled(number, poll)
            status = MeshStatus(self._name, at_ns, self._mesh.interval, urls=self._urls.failures)
            status.asked_ns = max(0, poll.local.started_ns + at_ns - steady_ns)
            for router, asked in poll.asked.items():
                watched = self._watch(router, asked)
                if router in poll.heard or asked.result == "ok":
                    watched.heard_ns = steady_ns
                if not asked.whole:
                    continue
                self._context.poll_metrics.count_result(
                    ("router", f"{self._name}/{router}"), asked.result, asked.faults
                )
                if asked.failure is None and self._urls.polled_through(number, router):
                    self._answered(router, asked, watched, status, steady_ns)
            self._faults.warn(poll.notes)
            if status.polled:  # otherwise it was a look through a spare URL
                self._judge(status, steady_ns)
                self._show(status, poll.omitted)
                self._publish(status)

    def lost(self, at_ns: int, steady_ns: int, reason: str, number: int = 0) -> None:
        """Take in that nothing is seen through a URL; once that is so for all, the mesh is down."""
        with self._lock:
            self._urls.lost(number, reason)
            if not self._urls.all_lost:
                return  # the others' next polls tell which of its routers they reach
            reasons = "; ".join(dict.fromkeys(why or "" for why in self._urls.failures.values()))
            status = MeshStatus(
                self._name, at_ns, self._mesh.interval, urls=self._urls.failures, failure=reasons
            )
            self._forget_silent(steady_ns)
            for router, watched in self._watched.items():
                self._down(router, watched, reasons, status)
            status.graph.routers = dict.fromkeys(status.down, False)
            self._context.cache.put(self._name, self._mesh_metrics(status, up=False))
            self._context.publish(ROUTER, records.of_mesh(self._context.site, status, self._polls, self._run))
            self._on_status(status)

    def _judge(self, status: MeshStatus, steady_ns: int) -> None:
        """Say which routers are up, down, or up and cut off, by what all URLs have shown."""
        self._forget_silent(steady_ns)
        for router, watched in self._watched.items():
            reason = self._urls.down(router)
            if reason is not None:
                if watched.failure is None:
                    log.warning("mesh %s: router %s is down: %s", self._name, router, reason)
                self._down(router, watched, reason, status)
            elif watched.snapshot is not None and watched.counted is not None:
                status.snapshots[router], status.counted[router] = watched.snapshot, watched.counted
                if cut_off := self._urls.cut_off(router):
                    status.cut_off[router] = cut_off
                    if watched.cut_off != cut_off.text:
                        log.warning("mesh %s: %s", self._name, f"router {router} is {cut_off.explained}")
                watched.cut_off = cut_off.text if cut_off else None
        status.graph = self._topology.feed(status.snapshots, status.down, steady_ns)
        known = {router for router, counted in status.counted.items() if counted.interval_ns}
        status.settled = not self._urls.untried and self._watched.keys() == status.down.keys() | known

    def _publish(self, status: MeshStatus) -> None:
        self._polls += 1
        for record in records.of_poll(self._context.site, status, self._polls, self._run):
            self._context.publish(ROUTER, record)
        self._on_status(status)

    def _watch(self, router: str, asked: AskedRouter) -> WatchedRouter:
        watched = self._watched.get(router)
        if watched is None:
            watched = self._watched[router] = WatchedRouter(
                asked.kind, asked.flavour, RouterCounters(self._mesh.addresses, self._addresses), 0
            )
            self._context.poll_metrics.add_target(("router", f"{self._name}/{router}"))
        return watched

    def _answered(
        self, router: str, asked: AskedRouter, watched: WatchedRouter, status: MeshStatus, steady_ns: int
    ) -> None:
        snapshot = take_snapshot(asked, status.at_ns, steady_ns, watched.seldom)
        if watched.snapshot is not None and snapshot.steady_ns <= watched.snapshot.steady_ns:
            return  # another URL's poll was later, and over before this one
        counted = watched.counters.count(snapshot)
        self._remember(router, asked, watched, restarted=counted.restarted)
        watched.flavour = FLAVOURS[snapshot.flavour]
        watched.kind = "edge" if snapshot.edge else "interior"
        watched.snapshot, watched.counted = snapshot, counted
        status.polled.add(router)
        for ingress, count in counted.ingress.items():
            between = (ingress, router)
            if between not in self._between and len(self._between) >= MAX_PAIRS:
                between = OTHERS
            self._between[between] = self._between.get(between, 0) + count
        if watched.failure is not None:
            log.info("mesh %s: router %s answers again", self._name, router)
        elif counted.restarted:
            log.info("mesh %s: router %s has restarted", self._name, router)
        watched.failure = None

    def _remember(self, router: str, asked: AskedRouter, watched: WatchedRouter, *, restarted: bool) -> None:
        """Keep what the next polls do not ask for; forget it if the router has restarted."""
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

    def _down(self, router: str, watched: WatchedRouter, reason: str, status: MeshStatus) -> None:
        watched.forget_seldom()
        watched.snapshot = watched.counted = watched.cut_off = None
        watched.failure = reason
        status.down[router] = reason
        self._context.cache.drop((self._name, router))

    def _forget_silent(self, steady_ns: int) -> None:
        for router in [r for r, w in self._watched.items() if steady_ns - w.heard_ns > FORGET_NS]:
            del self._watched[router]
            self._urls.forget(router)
            self._context.cache.drop((self._name, router))
            self._context.poll_metrics.remove_target(("router", f"{self._name}/{router}"))

    def _show(self, status: MeshStatus, omitted_routers: int) -> None:
        for_seconds = STALE_INTERVALS * self._mesh.interval / 1e9
        cache = self._context.cache
        omitted = {"router": omitted_routers, "link_group": 0, "address": 0, "path_row": 0}
        for router, snapshot in status.snapshots.items():
            counted = status.counted[router]
            for entity, count in counted.omitted.items():
                omitted[entity] += count
            if router not in status.polled:
                continue
            cache.put(
                (self._name, router),
                functools.partial(metrics.of_router, self._name, snapshot, counted, self._mesh.links),
                for_seconds,
            )
        values = [*self._mesh_metrics(status, up=True), *metrics.of_omitted(self._name, omitted)]
        cache.put(self._name, values, for_seconds)

    def _mesh_metrics(self, status: MeshStatus, *, up: bool) -> list[MetricValue]:
        between = self._between if up else {}
        return [
            *metrics.of_mesh(
                self._name,
                up=up,
                graph=status.graph,
                between=between,
                urls=status.urls,
                cut_off=status.cut_off,
            )
        ]
