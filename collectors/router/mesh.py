"""What is known of a mesh over many polls, and what each poll makes of it: samples, records, a view."""

from __future__ import annotations

import functools
import logging
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from collectors.config import Mesh
from collectors.outlet import Outlet
from collectors.router import publish, samples
from collectors.router.poll import Asked, Kind, Known, Poll
from collectors.router.rows import Table
from collectors.router.schema import FLAVOURS, Flavour
from collectors.router.tally import Tallied, Tally
from collectors.router.topology import Graph, Topology
from collectors.router.view import RouterView, view
from collectors.topics import ROUTER

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

    def forget_seldom(self) -> None:
        """Ask for everything in the next poll."""
        self.seldom = {}
        self.rested = SELDOM_POLLS


@dataclass(slots=True)
class MeshView:
    """A mesh after a poll: the routers that answered whole, why others did not, and the graph."""

    mesh: str
    at_ns: int
    interval_ns: int
    views: dict[str, RouterView] = field(default_factory=dict)
    tallied: dict[str, Tallied] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    seconds: dict[str, float] = field(default_factory=dict)  # how long each router took
    failure: str | None = None  # why the mesh as a whole could not be polled


class MeshState:
    """Fed by the collector, from one thread."""

    def __init__(self, name: str, mesh: Mesh, outlet: Outlet, seen: Callable[[MeshView], None]) -> None:
        self._name = name
        self._mesh = mesh
        self._outlet = outlet
        self._seen = seen
        self._watched: dict[str, Watched] = {}
        self._local: str | None = None
        self._topology = Topology(mesh.expect)
        self._between: dict[tuple[str, str], int] = {}
        self._polls = 0
        self._last_ns: int | None = None
        self._told: deque[str] = deque(maxlen=MAX_TOLD)

    def begin(self, flavour: Flavour, tags: Iterator[int]) -> Poll:
        known = {router: Known(w.kind, w.flavour, w.unnamed) for router, w in self._watched.items()}
        local = self._local if self._local in known else None
        default = flavour if local is None else known[local].flavour
        rested = {router for router, w in self._watched.items() if w.rested < SELDOM_POLLS}
        return Poll(default, known, tags, local, rested)

    def end(self, poll: Poll, at_ns: int, steady_ns: int) -> None:
        """Take in a poll whose local router answered."""
        self._polls += 1
        self._local = poll.local.router
        interval_ns = self._mesh.interval if self._last_ns is None else steady_ns - self._last_ns
        self._last_ns = steady_ns
        seen = MeshView(self._name, at_ns, interval_ns)
        for router, asked in poll.asked.items():
            watched = self._watch(router, asked)
            if router in poll.heard or asked.result == "ok":
                watched.heard_ns = steady_ns
            self._outlet.polls.count(("router", f"{self._name}/{router}"), asked.result, asked.faults)
            if asked.failure is None:
                self._answered(router, asked, watched, seen, steady_ns)
            else:
                self._silent(router, asked.failure[1], watched, seen)
        for router in [r for r, w in self._watched.items() if steady_ns - w.heard_ns > FORGET_NS]:
            self._forget(router)
            seen.down.pop(router, None)
        seen.graph = self._topology.feed(seen.views, seen.down, steady_ns)
        self._tell(poll)
        self._show(seen, poll.omitted)
        for record in publish.records(self._outlet.site, seen, self._polls):
            self._outlet.publish(ROUTER, record)
        self._seen(seen)

    def lost(self, at_ns: int, steady_ns: int, reason: str) -> None:
        """The mesh cannot be polled: nothing of it is known now."""
        self._local = None
        seen = MeshView(self._name, at_ns, self._mesh.interval, failure=reason)
        for router, watched in self._watched.items():
            watched.failure = reason
            watched.forget_seldom()
            seen.down[router] = reason
            self._outlet.board.drop((self._name, router))
        for router in [r for r, w in self._watched.items() if steady_ns - w.heard_ns > FORGET_NS]:
            self._forget(router)
            seen.down.pop(router)
        seen.graph.routers = dict.fromkeys(seen.down, False)
        board = [("router_up", (self._name, router), 0.0) for router in seen.down]
        self._outlet.board.put(self._name, [("mesh_up", (self._name,), 0.0), *board])
        self._outlet.publish(ROUTER, publish.of_mesh(self._outlet.site, seen, self._polls))
        self._seen(seen)

    def _watch(self, router: str, asked: Asked) -> Watched:
        watched = self._watched.get(router)
        if watched is None:
            watched = self._watched[router] = Watched(
                asked.kind, asked.flavour, Tally(self._mesh.addresses), 0
            )
            self._outlet.polls.known(("router", f"{self._name}/{router}"))
        return watched

    def _answered(self, router: str, asked: Asked, watched: Watched, seen: MeshView, steady_ns: int) -> None:
        found = view(asked, seen.at_ns, steady_ns, watched.seldom)
        tallied = watched.tally.feed(found)
        self._remember(router, asked, watched, restarted=tallied.restarted)
        watched.flavour = FLAVOURS[found.flavour]
        watched.kind = "edge" if found.edge else "interior"
        seen.views[router] = found
        seen.tallied[router] = tallied
        seen.seconds[router] = (asked.ended_ns - asked.started_ns) / 1e9
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

    def _silent(self, router: str, reason: str, watched: Watched, seen: MeshView) -> None:
        watched.forget_seldom()
        if watched.failure is None:
            _log.warning("mesh %s: router %s is down: %s", self._name, router, reason)
        watched.failure = reason
        seen.down[router] = reason
        self._outlet.board.drop((self._name, router))

    def _forget(self, router: str) -> None:
        del self._watched[router]
        self._outlet.board.drop((self._name, router))
        self._outlet.polls.forget(("router", f"{self._name}/{router}"))

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
        board = self._outlet.board
        omitted = {"router": omitted_routers, "link_group": 0, "address": 0}
        for router, found in seen.views.items():
            tallied = seen.tallied[router]
            for entity, count in tallied.omitted.items():
                omitted[entity] += count
            board.put(
                (self._name, router),
                functools.partial(samples.of_router, self._name, found, tallied, self._mesh.links),
                for_seconds,
            )
        board.put(
            self._name,
            [
                ("mesh_up", (self._name,), 1.0),
                *samples.of_mesh(self._name, seen.graph, self._between),
                *(
                    ("collector_omitted_series", ("router", self._name, entity), float(count))
                    for entity, count in omitted.items()
                ),
            ],
            for_seconds,
        )
