"""Messages on their way through routers, one by one, and what each router counts of them meanwhile."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from . import routing
from .parts import MS, T0, Entity, Link, Message, Name, Router, Way


class Network:
    """Routers, ways and a clock that goes from event to event."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.now_ns = T0
        self.routers: dict[str, Router] = {}
        self.ways: list[Way] = []
        self.counts: dict[Name, int] = {}  # what each hop took of all traffic, by cause
        self._events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = itertools.count()

    def at(self, ns: int, call: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (ns, next(self._order), call, arguments))

    def after(self, ns: int, call: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now_ns + ns, call, *arguments)

    def run(self, until_ns: int) -> None:
        events = self._events
        while events and events[0][0] <= until_ns:
            self.now_ns, _, call, arguments = heapq.heappop(events)
            call(*arguments)
        self.now_ns = until_ns

    def add_router(self, name: str, flavour: str) -> Router:
        router = Router(name, flavour, T0 // 10**9 - self.rng.randrange(1, 10**6))
        self.routers[name] = router
        return router

    def connect(self, way: Way) -> None:
        """Make the links of a way, new ones each time."""
        one, other = self.routers[way.one], self.routers[way.other]
        way.cut, way.known = False, True
        for source, target in ((one, other), (other, one)):
            hop = f"{source.name} → {target.name}"
            arriving = target.link("router", "in", source.name, hop, way=way)
            leaving = source.link(
                "router", "out", target.name, hop, way=way, partner=arriving, latency_ns=way.latency_ns
            )
            source.towards[target.name] = leaving

    def learn(self) -> None:
        """Give all routers what they know of ways and subscribers by now."""
        routing.learn(self.routers, self.ways)
        for router in self.routers.values():
            for key in set(router.hosts) | set(router.entities) | set(router.subscribers):
                self.refresh(router, key)

    def refresh(self, router: Router, key: str) -> None:
        wanted = router.subscribers.get(key) or router.hosts.get(key) or router.sources.get(key)
        if not wanted or not router.alive:
            router.entities.pop(key, None)
        elif key not in router.entities:
            phase = key[1] if router.flavour == "dispatch" else ""
            router.entities[key] = Entity(key, key[1 + len(phase) :], phase)

    # -- forwards -------------------------------------------------------------------------------------------

    def arrive(self, link: Link, message: Message) -> None:
        """A message reaches a router by its in-link."""
        router = link.router
        if link.dead or not router.alive or (link.way is not None and link.way.cut):
            died = () if router.alive else ((router.name, "gone"),)
            self.lose(message, (link.hop, "gone"), *died)
            return
        if message.settled and link.way is not None and self.rng.random() < link.way.loses:
            self.lose(message, (link.hop, "dropped"), (link.hop, "gone"))
            return
        link.deliveries += 1
        if message.settled:
            link.presettled += 1
        else:
            link.unsettled.add(message)
        message.stops.append(router.name)
        entity = router.entities.get(self.key(router, link, message))
        if entity is not None and link.kind == "end":
            entity.ingress += 1
        out = self._choose(router, entity, message)
        message.trail.append((router, link, out))
        if out is None:
            self._nowhere(router, link, message)
            return
        assert entity is not None
        if out.kind == "end":
            entity.egress += 1
        else:
            entity.transit += 1
        self.put(out, message)

    def key(self, router: Router, link: Link, message: Message) -> str:
        if link.key:
            return link.key
        source = message.trail[0][1]  # the link by which it came in
        return router.key(source.address, source.phase or "0")

    def _choose(self, router: Router, entity: Entity | None, message: Message) -> Link | None:
        if entity is None:
            return None
        here = router.subscribers.get(entity.key, [])
        hops = {router.next_hop.get(host) for host in router.hosts.get(entity.key, ())}
        leg = {stop.name for stop, _, _ in message.trail}
        beyond = [router.towards[hop] for hop in sorted(hop for hop in hops if hop) if hop not in leg]
        found = [*here, *(link for link in beyond if not link.dead)]
        if not found:
            return None
        entity.turn += 1
        return found[entity.turn % len(found)]

    def _nowhere(self, router: Router, link: Link, message: Message) -> None:
        if message.settled:
            link.dropped += 1
            router.dropped += 1
            self.lose(message, (router.name, "no_route"))
            return
        if getattr(message.origin, "keeps", None) is not True:
            self.count((router.name, "released"))
            message.names = ((router.name, "released"),)
        self.settle(message, "released")

    def put(self, link: Link, message: Message) -> None:
        """Hand it to an out-link, which drops what is settled when too much waits in it."""
        if message.settled and len(link.queue) >= link.capacity:
            kept = link.queue.popleft()
            for dropped in [one for one in link.queue if one.settled]:
                link.queue.remove(dropped)
                link.dropped += 1
                link.router.dropped += 1
                self.lose(dropped, (link.hop, "dropped"))
            link.queue.appendleft(kept)
        link.queue.append(message)
        self.pump(link)

    def pump(self, link: Link) -> None:
        """Send what may be sent."""
        while link.queue and not link.stalled and not link.dead:
            if not link.queue[0].settled and len(link.unsettled) >= link.capacity:
                return
            if link.pace_ns:
                if self.now_ns < link.free_ns:
                    if not link.waking:
                        link.waking = True
                        self.at(link.free_ns, self._wake, link)
                    return
                link.free_ns = self.now_ns + link.pace_ns
            message = link.queue.popleft()
            link.deliveries += 1
            if message.settled:
                link.presettled += 1
            else:
                link.unsettled.add(message)
            if link.partner is not None:
                self.after(link.latency_ns, self.arrive, link.partner, message)
            elif link.target is not None:
                self.after(link.latency_ns, self._hand_over, link, message)

    def _wake(self, link: Link) -> None:
        link.waking = False
        self.pump(link)

    def _hand_over(self, link: Link, message: Message) -> None:
        if link.dead:
            died = () if link.router.alive else ((link.router.name, "gone"),)
            self.lose(message, (link.hop, "gone"), *died)
        elif link.target is not None:
            link.target.take(message)

    # -- back -----------------------------------------------------------------------------------------------

    def settle(self, message: Message, outcome: str, start: int | None = None) -> None:
        """Take an outcome back along the trail, to whoever sent it, as far as the links are still there."""
        trail = message.trail
        for index in range(len(trail) - 1 if start is None else start, -1, -1):
            router, link, out = trail[index]
            if out is not None and index != start:
                if message not in out.unsettled:
                    return
                out.unsettled.discard(message)
                out.outcomes[outcome] += 1
                self.pump(out)
            if link.dead or not router.alive:
                return
            link.unsettled.discard(message)
            link.outcomes[outcome] += 1
        self.after(MS, message.origin.told, message, outcome)

    def end_link(self, link: Link) -> None:
        """A link is found dead: what it held goes back as released or modified, or goes with it."""
        link.dead = True
        link.router.links.pop(link.identity, None)
        died = link.partner is not None and not link.partner.router.alive
        beyond = ((link.peer, "gone"),) if died else ()
        place = (link.hop, "gone")
        for message in [*link.queue, *sorted(link.unsettled, key=lambda m: (m.path, m.number))]:
            if message.settled:
                link.router.dropped += 1
                self.lose(message, place, *beyond)
                continue
            outcome = "modified" if message in link.unsettled else "released"
            if link.direction == "out":
                names: Sequence[Name] = (
                    (link.router.name, outcome),
                    (link.hop, outcome),
                    place,
                    *beyond,
                )
                if getattr(message.origin, "keeps", None) is not True:
                    message.names = tuple(names)
                    for name in names:
                        self.count(name)
                index = next(n for n, step in enumerate(message.trail) if step[2] is link)
                self.settle(message, outcome, index)
        link.queue.clear()
        link.unsettled.clear()

    def count(self, name: Name, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def lose(self, message: Message, *names: Name) -> None:
        """Say where a message was lost, and count it there."""
        message.lose(*names)
        for name in names:
            self.count(name)
