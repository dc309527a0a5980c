"""Does to messages what the faults say, between their arrival and the route."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from cproton_ffi import lib

from deploy.standin.engine.links import Transit
from deploy.standin.faults import rules as faults

if TYPE_CHECKING:
    from deploy.standin.engine.links import InLink
    from deploy.standin.engine.loop import Loop
    from deploy.standin.faults.rules import Fault, Faults
    from deploy.standin.routing.router import Router
    from deploy.standin.routing.routes import Route

_NS = 1_000_000_000
_OUTCOMES = {faults.RELEASE: lib.PN_RELEASED, faults.REJECT: lib.PN_REJECTED, faults.MODIFY: lib.PN_MODIFIED}


class Gate:
    def __init__(self, router: Router, rules: Faults, loop: Loop) -> None:
        self._router = router
        self._rules = rules
        self._loop = loop
        self._held: dict[int, deque[tuple[int | None, Transit, Route, InLink]]] = {}  # by in-link

    @property
    def busy(self) -> bool:
        """Something is held back, and nobody may overtake it."""
        return bool(self._held)

    def through(self, link: InLink, transit: Transit, route: Route) -> None:
        now_ns = time.monotonic_ns()
        fault = self._rules.decide(route.key, presettled=transit.settled, now_ns=now_ns)
        if fault is None:
            if self._held.get(link.identity):
                self._hold(link, transit, route, now_ns)  # nobody overtakes
            else:
                route.forward(transit)
        elif fault.kind == faults.DROP:
            self._drop(link, transit)
        elif fault.kind in _OUTCOMES:
            link.settle(transit, _OUTCOMES[fault.kind])
        elif fault.kind == faults.DUPLICATE:
            route.forward(transit)
            route.forward(Transit(None, None, transit.data, transit.origin, transit.trace))
        elif fault.kind == faults.STALL:
            self._hold(link, transit, route, None)
        else:
            self._delay(link, transit, route, fault, now_ns)

    def _drop(self, link: InLink, transit: Transit) -> None:
        """Presettled ones are counted, as routers do; to accept and forget the others is meant as a lie."""
        if transit.settled:
            link.counters.dropped_presettled += 1
            self._router.counters.dropped_presettled += 1
        else:
            link.settle(transit, lib.PN_ACCEPTED)

    def _delay(self, link: InLink, transit: Transit, route: Route, fault: Fault, now_ns: int) -> None:
        due_ns = now_ns + fault.delay()
        if not fault.reorder:
            self._hold(link, transit, route, due_ns)
            return
        self._count_held(link, transit, route, 1)

        def forward() -> None:
            self._count_held(link, transit, route, -1)
            route.forward(transit)

        self._loop.call_later((due_ns - now_ns) / _NS, forward)

    def _hold(self, link: InLink, transit: Transit, route: Route, due_ns: int | None) -> None:
        queue = self._held.setdefault(link.identity, deque())
        queue.append((due_ns, transit, route, link))
        self._count_held(link, transit, route, 1)
        if len(queue) == 1:
            self._watch(link.identity)

    @staticmethod
    def _count_held(link: InLink, transit: Transit, route: Route, step: int) -> None:
        if transit.settled:
            link.held += step
        route.held += step

    def _watch(self, identity: int) -> None:
        """Come back when the first of the queue is due; a stalled one is looked at every few ms."""
        due_ns = self._held[identity][0][0]
        now_ns = time.monotonic_ns()
        wait_ns = 5_000_000 if due_ns is None else max(0, due_ns - now_ns)
        self._loop.call_later(wait_ns / _NS, lambda: self._let_go(identity))

    def _let_go(self, identity: int) -> None:
        queue = self._held[identity]
        now_ns = time.monotonic_ns()
        while queue:
            due_ns, transit, route, link = queue[0]
            waits = self._rules.stalls(route.key, now_ns) if due_ns is None else due_ns > now_ns
            if waits:
                self._watch(identity)
                return
            queue.popleft()
            self._count_held(link, transit, route, -1)
            self._router.thirsty[link.identity] = link
            route.forward(transit)
        del self._held[identity]
