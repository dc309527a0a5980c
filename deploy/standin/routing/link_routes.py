"""Link routes: whose links go on to a broker, and to which neighbour on the way there.

As in real routers each router decides anew: a broker or an edge of its own first, then in turn the routers
that tell of one, whatever their costs. A link route wins over any other address, and the longest prefix wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import proton

from deploy.standin.engine.peers import EDGE, INTER_ROUTER
from deploy.standin.engine.routed_halves import RoutedIn, RoutedOut
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deploy.standin.engine.peers import Peer
    from deploy.standin.engine.routed_links import RoutedLink
    from deploy.standin.routing.router import Router

SENDERS, RECEIVERS = "C", "D"  # how the keys of link routes begin; the prefix follows


class LinkRoutes:
    def __init__(self, router: Router) -> None:
        self._router = router
        self.identities = [router.next_identity() for _ in router.settings.link_routes]
        self._configured = [route.key for route in router.settings.link_routes]
        self._led: dict[str, list[Peer]] = {}  # by key: brokers, and edges that lead to one
        self._above: frozenset[str] = frozenset()  # what an edge's interior router knows
        self._turns: dict[str, int] = {}

    # -- who leads where ----------------------------------------------------------------------------------

    def joined(self, peer: Peer) -> None:
        """Take in a broker whose connection is open. Edges tell by themselves what they lead to."""
        self._lead(peer, [r.key for r in self._router.settings.link_routes if r.connector == peer.connector])

    def left(self, peer: Peer) -> None:
        """Forget a broker or an edge that is gone, or the interior router above."""
        if peer is self._router.edges.up:
            self._above = frozenset()
        self._lead(peer, ())

    def told_by(self, peer: Peer, keys: Iterable[str]) -> None:
        """Take in what an edge leads to, or what the interior router above knows."""
        if peer.connector:
            self._above = frozenset(keys)
        else:
            self._lead(peer, keys)

    def _lead(self, peer: Peer, keys: Iterable[str]) -> None:
        wanted = {*keys}
        for key in {*self._led, *wanted}:
            peers = [known for known in self._led.get(key, ()) if known is not peer]
            if key in wanted:
                peers.append(peer)
            if peers:
                self._led[key] = peers
            else:
                self._led.pop(key, None)
        self._router.mesh.changed = True

    def led_from_here(self) -> tuple[str, ...]:
        return tuple(sorted(self._led))

    def known(self) -> tuple[str, ...]:
        """Return what this router tells its edges: all that it would carry on."""
        return tuple(sorted({*self._configured, *self._led, *self._router.topology.link_routes()}))

    def rows(self) -> Iterator[tuple[str, int]]:
        """Yield (key, containers here) for the address table."""
        for key in self.known():
            yield key, len(self._led.get(key, ()))

    def active(self, key: str, peer: Peer) -> bool:
        return peer in self._led.get(key, ())

    # -- links --------------------------------------------------------------------------------------------

    def take(self, peer: Peer, link: proton.Link) -> bool:
        """Carry on a link that a peer opens, or refuse it; return False if it has an ordinary address."""
        terminus = link.remote_target if link.is_receiver else link.remote_source
        if terminus.type == proton.Terminus.COORDINATOR or terminus.dynamic or terminus.address is None:
            return False
        place = addresses.parse(terminus.address)
        key = self._key(SENDERS if link.is_receiver else RECEIVERS, place) if place.mobile else None
        if key is None:
            return False
        onward = self._onward(key, peer)
        if onward is None:
            self._router.refuse_link(link, "qd:no-route-to-dest", "No route to the destination node")
        else:
            self._carry_on(peer, link, onward, place.key)
        return True

    def _key(self, direction: str, place: addresses.Address) -> str | None:
        name = addresses.plain(place.key)
        found = [
            key
            for key in {*self.known(), *self._above}
            if key.startswith(direction) and addresses.matches(key[1:], name)
        ]
        return max(found, key=len, default=None)

    def _onward(self, key: str, peer: Peer) -> Peer | None:
        """Return where a link goes next, but never back."""
        router = self._router
        here = [led for led in self._led.get(key, ()) if led.opened and led is not peer]
        if here:
            return here[self._turn(key) % len(here)]
        if router.edges.up is not None and key in self._above:
            return router.edges.up if router.edges.up is not peer else None
        hops = [router.topology.next_hop(router.id, name) for name in router.topology.leading(key)]
        ways = [router.mesh.neighbours[hop] for hop in hops if hop in router.mesh.neighbours]
        ways = [way for way in ways if way.opened and way is not peer]
        return ways[self._turn(key) % len(ways)] if ways else None

    def _turn(self, key: str) -> int:
        self._turns[key] = self._turns.get(key, -1) + 1
        return self._turns[key]

    def _carry_on(self, peer: Peer, link: proton.Link, onward: Peer, key: str) -> None:
        router = self._router
        # Clients may choose the same names; a link that is on its way has a name of its own already.
        on_its_way = peer.role == INTER_ROUTER or (onward.role == EDGE and onward.connector)
        name = link.name if on_its_way else f"{link.name}@{peer.container}"
        session = onward.own_session()
        further = session.sender(name) if link.is_receiver else session.receiver(name)
        further.source.copy(link.remote_source)
        further.target.copy(link.remote_target)
        asked, ours = (RoutedIn, RoutedOut) if link.is_receiver else (RoutedOut, RoutedIn)
        halves: list[RoutedLink] = [
            asked(peer, link, router.next_identity(), ours=False),
            ours(onward, further, router.next_identity(), ours=True),
        ]
        for half, other in zip(halves, reversed(halves), strict=True):
            half.join(other)
            half.owning_key = key
            router.add_routed(half)
        further.open()
