"""Carries out the faults, on each message between its arrival and its route."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.standin.engine.links import Transit
from deploy.standin.engine.outcomes import OUTCOME_STATES
from deploy.standin.faults.kinds import Drop, Forward, Hold, Refuse
from deploy.standin.faults.rules import Rules

if TYPE_CHECKING:
    from deploy.standin.engine.links import InLink
    from deploy.standin.engine.loop import Loop
    from deploy.standin.engine.routed_halves import FaultyWay, RoutedIn
    from deploy.standin.faults.rules import Fault
    from deploy.standin.routing.routes import Route

_SECOND_NS = 1_000_000_000
_LOOK_NS = 5_000_000  # how often a message that waits for the end of a fault is looked at


@dataclass(slots=True)
class _Held:
    """A message that waits; `fault` is given where its end lets the message go."""

    until_ns: int | None
    fault: Fault | None
    transit: Transit
    route: Route | FaultyWay
    link: InLink | RoutedIn

    def count(self, step: int) -> None:
        if self.transit.settled:
            self.link.held_presettled += step
        self.route.held += step


class Injector:
    """The faults of one router; asked about each message while it is `active`."""

    def __init__(self, loop: Loop) -> None:
        self.rules = Rules()
        self._loop = loop
        self._held: dict[int, deque[_Held]] = {}  # by the identity of the link they came by

    @property
    def active(self) -> bool:
        """Whether there are faults, or messages held back that none may overtake."""
        return bool(self.rules or self._held)

    def stalls(self, key: str) -> bool:
        return self.rules.stalls(key, time.monotonic_ns())

    def deliver(self, link: InLink | RoutedIn, transit: Transit, route: Route | FaultyWay) -> None:
        now_ns = time.monotonic_ns()
        fault = self.rules.take(route.key, presettled=transit.settled, now_ns=now_ns)
        if fault is None:
            if self._held.get(link.identity):
                self._hold(_Held(now_ns, None, transit, route, link))  # none overtakes
            else:
                route.forward(transit)
            return
        match fault.act(len(transit.data), now_ns):
            case Forward(copies):
                route.forward(transit)
                for _ in range(copies - 1):
                    route.forward(Transit(None, None, transit.data, transit.origin, transit.trace))
            case Drop():
                _drop(link, transit)
            case Refuse(outcome):
                link.settle(transit, OUTCOME_STATES[outcome])
            case Hold(until_ns, may_be_overtaken, ends_with_fault):
                held = _Held(until_ns, fault if ends_with_fault else None, transit, route, link)
                if until_ns is not None and may_be_overtaken:
                    self._forward_at(until_ns, held)
                else:
                    self._hold(held)

    def _forward_at(self, until_ns: int, held: _Held) -> None:
        held.count(1)

        def forward() -> None:
            held.count(-1)
            held.route.forward(held.transit)

        self._loop.call_later((until_ns - time.monotonic_ns()) / _SECOND_NS, forward)

    def _hold(self, held: _Held) -> None:
        identity = held.link.identity
        queue = self._held.setdefault(identity, deque())
        queue.append(held)
        held.count(1)
        if len(queue) == 1:
            self._look_again(identity)

    def _waits(self, held: _Held, now_ns: int) -> bool:
        if held.until_ns is None:
            return self.rules.stalls(held.route.key, now_ns)
        return held.until_ns > now_ns and not (held.fault and held.fault.ended(now_ns))

    def _look_again(self, identity: int) -> None:
        """Call `_release` when the first of the queue may be due."""
        first = self._held[identity][0]
        wait_ns = _LOOK_NS
        if first.until_ns is not None:
            due_ns = max(0, first.until_ns - time.monotonic_ns())
            wait_ns = min(due_ns, _LOOK_NS) if first.fault else due_ns
        self._loop.call_later(wait_ns / _SECOND_NS, lambda: self._release(identity))

    def _release(self, identity: int) -> None:
        queue = self._held[identity]
        now_ns = time.monotonic_ns()
        while queue:
            held = queue[0]
            if self._waits(held, now_ns):
                self._look_again(identity)
                return
            queue.popleft()
            held.count(-1)
            held.link.ask_for_credit()
            held.route.forward(held.transit)
        del self._held[identity]


def _drop(link: InLink | RoutedIn, transit: Transit) -> None:
    """Count a presettled message, as real routers do; accept any other."""
    if transit.settled:
        link.counters.dropped_presettled += 1
        link.peer.router.counters.dropped_presettled += 1
    link.settle(transit, 0 if transit.settled else OUTCOME_STATES["accepted"])
