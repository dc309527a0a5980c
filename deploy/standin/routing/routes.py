"""Routes: the ways for messages of one address, origin and target, and the outcomes on the way back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from cproton_ffi import lib

from deploy.standin.engine import credit
from deploy.standin.engine.links import OutLink, Transit
from deploy.standin.engine.peers import EDGE
from deploy.standin.routing import addresses, selection
from deploy.standin.routing.edges import UP

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.standin.engine.links import InLink
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router

# The sender of a multicast gets the strongest of its outcomes, as from real routers.
_STRENGTH = {lib.PN_RELEASED: 1, lib.PN_MODIFIED: 2, lib.PN_ACCEPTED: 3, lib.PN_REJECTED: 4}


class Way(selection.Way, Protocol):
    def push(self, transit: Transit) -> None: ...


Destination = Way | tuple[str, str]  # a consumer here, or (target, next hop)


class InProcessConsumer:
    """A consumer inside the router, such as the management node."""

    spare_credit = credit.CAPACITY
    open_deliveries = 0
    assigned = 0

    def __init__(self, receive: Callable[[bytes], None]) -> None:
        self._receive = receive

    def push(self, transit: Transit) -> None:
        if transit.incoming:
            transit.incoming.settle(transit, lib.PN_ACCEPTED)
        if transit.route:
            transit.route.counters.to_container += 1
        self._receive(transit.data)


class Route:
    """The way of messages to `target`: one router, any with consumers (None), or all of them (TREE).

    TREE follows the tree of shortest paths from the origin, so that each router gets one copy.
    """

    TREE = "*"

    def __init__(self, router: Router, key: str, origin: str, target: str | None) -> None:
        self.router = router
        self.key = key
        self.origin = origin
        self.target = target
        self.distribution = addresses.distribution(key)
        self.counters = router.counters.address(key)
        self.incoming: dict[int, InLink] = {}
        self.trace: list[str] = [router.id]
        self._ways: dict[bool, list[tuple[Way, int]]] = {}
        self._mesh: set[OutLink] = set()
        self.used_ns = time.monotonic_ns()
        self.held = 0  # messages that a fault keeps back

    @property
    def idle(self) -> bool:
        return not self.incoming and not self.held and not any(link.queue for link in self._mesh)

    def ways(self, *, settled: bool) -> list[tuple[Way, int]]:
        if settled not in self._ways:
            self._ways[settled] = []
            self.refresh()
        return self._ways[settled]

    def _usable(self, peer: Peer | None, *, settled: bool) -> list[tuple[Way, int]]:
        """Return the ways for messages of a peer: all, but not back to an edge that they came from."""
        ways = self.ways(settled=settled)
        if peer is None or peer.role != EDGE:
            return ways
        return [(way, cost) for way, cost in ways if not isinstance(way, OutLink) or way.peer is not peer]

    def available(self, link: InLink) -> int:
        if self.target == self.TREE:
            return credit.CAPACITY
        return sum(max(0, way.spare_credit) for way, _ in self._usable(link.peer, settled=False))

    def reachable(self, link: InLink) -> bool:
        return self.target == self.TREE or bool(self._usable(link.peer, settled=True))

    def attach(self, link: InLink) -> None:
        self.incoming[link.identity] = link
        link.route = self
        self.ways(settled=link.presettled)
        link.ask_for_credit()

    def detach(self, link: InLink) -> None:
        self.incoming.pop(link.identity, None)
        self.used_ns = time.monotonic_ns()

    def recheck_credit(self) -> None:
        self.router.credit_due.update(self.incoming)

    def refresh(self) -> None:
        """Find the ways anew after consumers or the mesh have changed."""
        mesh: set[OutLink] = set()
        for settled in self._ways:
            ways: list[tuple[Way, int]] = []
            for place, cost in self._destinations():
                if isinstance(place, tuple):
                    link = self.router.mesh.link_to(self, *place, settled=settled)
                    if link is None:
                        continue
                    mesh.add(link)
                    ways.append((link, cost))
                else:
                    ways.append((place, cost))
            self._ways[settled] = ways
            for way, _ in ways:
                if isinstance(way, OutLink):
                    way.routes[id(self)] = self
        gone, self._mesh = self._mesh - mesh, mesh
        for link in gone:
            self.router.mesh.detach_route(link, self)
        self.recheck_credit()

    def _destinations(self) -> list[tuple[Destination, int]]:
        """Return consumers here, and (target, next hop) for those of other routers, each with its cost."""
        places: list[tuple[Destination, int]] = []
        if self.key.startswith("H"):
            found = self.router.edges.home_of(self.key)
            if found is None:
                return []
            home, edge = found
            return [((edge, edge), 1)] if home == self.router.id else self._reachable([((home, ""), 1)])
        if self.target in (None, self.TREE, self.router.id):
            places += [(way, 0) for way in self.router.consumers_of(self.key)]
        if self.router.is_edge and self.target in (None, self.TREE):
            places.append(((UP, UP), 1))
        topology = self.router.topology
        if self.target == self.TREE:
            return places + [
                ((self.TREE, hop), 0) for hop in sorted(topology.branches(self.origin, self.key))
            ]
        if self.target is None:
            places += [((router, ""), cost) for router, cost in topology.consumers(self.key).items()]
            places = selection.candidates(places, self.distribution)
        elif self.target != self.router.id:
            places.append(((self.target, ""), 1))
        return self._reachable(places)

    def _reachable(self, places: list[tuple[Destination, int]]) -> list[tuple[Destination, int]]:
        """Fill in next hops, and leave out what has none."""
        onward = ((self._with_next_hop(place), cost) for place, cost in places)
        return [(place, cost) for place, cost in onward if place is not None]

    def _with_next_hop(self, place: Destination) -> Destination | None:
        if not isinstance(place, tuple) or place[1]:
            return place
        hop = self.router.topology.next_hop(self.origin, place[0])
        return (place[0], hop) if hop else None

    def close(self) -> None:
        for ways in self._ways.values():
            for way, _ in ways:
                if isinstance(way, OutLink):
                    way.routes.pop(id(self), None)
        for link in self._mesh:
            self.router.mesh.detach_route(link, self)
        self._mesh.clear()
        self._ways.clear()

    def forward(self, transit: Transit) -> None:
        transit.route = self
        peer = transit.incoming.peer if transit.incoming else None
        ways = self._usable(peer, settled=transit.settled)
        if self.target == self.TREE:
            self._multicast(transit, ways)
            return
        way = selection.best(ways)
        if way is None:
            self.no_way(transit)
        else:
            way.push(transit)

    def take_waiting(self, way: OutLink) -> None:
        """Move messages that wait for other ways to one that has credit left."""
        if self.target == self.TREE or way.kind == "router-control":
            return
        for settled, ways in self._ways.items():
            if not any(known is way for known, _ in ways):
                continue
            for other, _ in ways:
                if isinstance(other, OutLink) and other is not way and other.queue:
                    self._move_waiting(way, other, settled=settled)

    def _move_waiting(self, way: OutLink, other: OutLink, *, settled: bool) -> None:
        mine = [
            transit
            for transit in other.queue
            if transit.route is self and transit.settled == settled and not _returns_to_its_edge(transit, way)
        ]
        for transit in mine[: max(0, way.spare_credit)]:
            other.queue.remove(transit)
            way.push(transit)

    def _multicast(self, transit: Transit, ways: list[tuple[Way, int]]) -> None:
        if not ways:
            self.no_way(transit)
            return
        transit.waiting = len(ways)
        for way, _ in ways:
            way.push(transit)

    def no_way(self, transit: Transit) -> None:
        """Release a message that nobody takes; drop and count it if it is presettled."""
        if transit.settled:
            self.router.counters.dropped_presettled += 1
            if transit.incoming:
                transit.incoming.counters.dropped_presettled += 1
        elif self.target == self.TREE and transit.waiting:
            self.outcome(transit, lib.PN_RELEASED)
        elif transit.incoming:
            transit.incoming.settle(transit, lib.PN_RELEASED)

    def outcome(self, transit: Transit, state: int) -> None:
        """Pass a consumer's outcome on to the sender, for a multicast when all have told theirs."""
        if transit.incoming is None or transit.settled:
            return
        if transit.waiting:
            transit.waiting -= 1
            if _STRENGTH.get(state, 0) > _STRENGTH.get(transit.worst, 0):
                transit.worst = state
            if transit.waiting:
                return
            state = transit.worst or lib.PN_RELEASED
        transit.incoming.settle(transit, state)


def _returns_to_its_edge(transit: Transit, way: OutLink) -> bool:
    """Whether this way leads back to the edge that the message came from."""
    peer = transit.incoming.peer if transit.incoming else None
    return peer is not None and peer.role == EDGE and way.peer is peer
