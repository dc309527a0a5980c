"""One router: its connections, links, consumers and routes, and how each of them comes and goes."""

from __future__ import annotations

import itertools
import logging
import secrets
import time
from typing import TYPE_CHECKING

import proton

from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.counters import RouterCounters
from deploy.standin.engine.links import InLink, Link, OutLink, Transit
from deploy.standin.engine.peers import EDGE, INTER_ROUTER, NORMAL, ROUTE_CONTAINER
from deploy.standin.engine.routed_links import RoutedLink
from deploy.standin.flavours import FLAVOURS
from deploy.standin.routing import addresses, removal
from deploy.standin.routing.auto_links import AutoLinks
from deploy.standin.routing.edges import UP, Edges
from deploy.standin.routing.link_routes import LinkRoutes
from deploy.standin.routing.mesh import Mesh
from deploy.standin.routing.routes import InProcessConsumer, Route
from deploy.standin.routing.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.standin.engine.loop import Loop
    from deploy.standin.engine.peers import Peer
    from deploy.standin.faults.injector import Injector
    from deploy.standin.routing.routes import Way
    from deploy.standin.settings import Settings

_log = logging.getLogger("inflight.standin")
_IDLE_NS = 10_000_000_000


class Router:
    def __init__(self, settings: Settings, loop: Loop, injector: Injector) -> None:
        self.settings = settings
        self.id = settings.router_id
        self.flavour = FLAVOURS[settings.flavour]
        self.boot_ns = time.time_ns()
        self.started_ns = time.monotonic_ns()
        self.topology_change_ns = self.boot_ns
        self.loop = loop
        self.topology = Topology(self.id)
        self.counters = RouterCounters()
        self.injector = injector
        self.peers: dict[int, Peer] = {}
        self.links: dict[int, Link] = {}  # by `key_of` proton's link
        self.consumers: dict[str, list[OutLink]] = {}
        self.in_process: dict[str, InProcessConsumer] = {}
        self.routes: dict[tuple[str, str, str | None], Route] = {}
        self.credit_due: dict[int, InLink] = {}  # to be looked at for credit at the end of the turn
        self._identities = itertools.count(1)
        self.edges = Edges(self)
        self.mesh = Mesh(self)
        self.auto_links = AutoLinks(self)
        self.link_routes = LinkRoutes(self)
        self._by_role: dict[str, tuple[Mesh | Edges | AutoLinks | LinkRoutes, ...]] = {
            INTER_ROUTER: (self.mesh,),
            EDGE: (self.link_routes, self.edges),
            ROUTE_CONTAINER: (self.auto_links, self.link_routes),
        }
        self._stale_keys: set[str] = set()
        self._all_stale = False
        self._waypoints = set(settings.waypoints)

    @property
    def is_edge(self) -> bool:
        return self.settings.mode == "edge"

    def next_identity(self) -> int:
        return next(self._identities)

    def joined(self, peer: Peer) -> None:
        """Take in a peer whose connection is open."""
        for party in self._by_role.get(peer.role, ()):
            party.joined(peer)

    def left(self, peer: Peer) -> None:
        """Forget a peer whose connection is lost or being closed."""
        for party in self._by_role.get(peer.role, ()):
            party.left(peer)

    def told_by(self, peer: Peer, link: proton.Link) -> None:
        """Take a link by which another router, or an edge, tells what is there."""
        link.target.copy(link.remote_target)
        link.source.copy(link.remote_source)
        link.snd_settle_mode = link.remote_snd_settle_mode
        link.open()
        party = self.mesh if peer.role == INTER_ROUTER else self.edges
        control = self.add_in_link(peer, link, party.CONTROL)
        control.presettled = True
        control.replenish()
        party.accept_control(peer, control)

    # -- links --------------------------------------------------------------------------------------------

    def add_in_link(self, peer: Peer, link: proton.Link, kind: str) -> InLink:
        made = InLink(peer, link, self.next_identity(), kind)
        self._add(peer, made)
        return made

    def add_out_link(self, peer: Peer, link: proton.Link, kind: str, key: str | None) -> OutLink:
        made = OutLink(peer, link, self.next_identity(), kind)
        made.owning_key = key
        self._add(peer, made)
        return made

    def add_routed(self, half: RoutedLink) -> None:
        self._add(half.peer, half)

    def _add(self, peer: Peer, link: Link) -> None:
        key = key_of(link.pn)
        self.links[key] = link
        peer.links[key] = link
        self.counters.links += 1

    @staticmethod
    def refuse_link(link: proton.Link, name: str, text: str) -> None:
        link.open()
        link.condition = proton.Condition(name, text)
        link.close()

    def remove_link(self, link: Link) -> None:
        """Close a link and forget it; what is under way on it ends as it would in a real router."""
        if link.closed:
            return
        link.closed = True
        key = key_of(link.pn)
        self.links.pop(key, None)
        link.peer.links.pop(key, None)
        if isinstance(link, InLink):
            removal.end_incoming(link)
        elif isinstance(link, OutLink):
            removal.end_outgoing(link)
        elif isinstance(link, RoutedLink):
            link.cut_off()
        link.proton_link.close()
        link.proton_link.free()

    def forget_routed(self, half: RoutedLink) -> None:
        """Forget both halves of a routed link, which are closed."""
        for each in (half, half.other):
            if not each.closed:
                each.closed = True
                self.links.pop(key_of(each.pn), None)
                each.peer.links.pop(key_of(each.pn), None)
                if not each.unsettled:  # else that would settle them, which neither end has done
                    each.proton_link.free()

    def send(self, address: str, data: bytes) -> None:
        """Send a presettled message that this router has made."""
        route = self.route_from_here(address)
        route.used_ns = time.monotonic_ns()
        route.counters.from_container += 1
        route.forward(Transit(None, None, data, self.id, [self.id]))

    # -- addresses ----------------------------------------------------------------------------------------

    def serve_in_process(self, key: str, receive: Callable[[bytes], None]) -> None:
        self.in_process[key] = InProcessConsumer(receive)

    def consumer_key(self, name: str) -> str:
        """Return the key for a receiver on an address. One of a waypoint gets what comes out of the queue."""
        place = addresses.parse(name)
        return addresses.phased(place.key, 1) if self.is_waypoint(addresses.plain(place.key)) else place.key

    def is_waypoint(self, name: str) -> bool:
        return any(addresses.matches(prefix, name) for prefix in self._waypoints)

    def add_consumer(self, key: str, link: OutLink) -> None:
        link.owning_key = key
        self.consumers.setdefault(key, []).append(link)
        self._stale_keys.add(key)
        self.mesh.changed = True

    def remove_consumer(self, link: OutLink) -> None:
        self.mesh.forget(link)
        consumers = self.consumers.get(link.owning_key or "")
        if consumers and link in consumers:
            consumers.remove(link)
            self.mesh.changed = True
            if not consumers:
                del self.consumers[link.owning_key or ""]

    def consumers_of(self, key: str) -> list[Way]:
        ways: list[Way] = list(self.consumers.get(key, ()))
        if key in self.in_process:
            ways.append(self.in_process[key])
        return ways

    def temporary_address(self) -> str:
        place = f"_edge/{self.id}" if self.is_edge else f"_topo/0/{self.id}"
        return f"amqp:/{place}/temp.{secrets.token_urlsafe(11)}"

    # -- routes -------------------------------------------------------------------------------------------

    def route(self, key: str, origin: str, target: str | None) -> Route:
        name = (key, origin, target)
        found = self.routes.get(name)
        if found is None:
            found = self.routes[name] = Route(self, key, origin, target)
        found.used_ns = time.monotonic_ns()
        return found

    def route_from_here(self, address: str) -> Route:
        """Return the route of messages that a client of this router sends to an address."""
        place = addresses.parse(address)
        if place.mobile:
            multicast = addresses.distribution(place.key) == addresses.MULTICAST
            return self.route(place.key, self.id, Route.TREE if multicast else None)
        if self.id in (place.router, place.edge) or place.router is place.edge is None:
            return self.route(place.key, self.id, self.id)
        if self.is_edge:
            return self.route(UP + address, self.id, None)
        if place.edge:
            return self.route(self.edges.key(place), self.id, None)
        return self.route(place.key, self.id, place.router)

    def topology_changed(self) -> None:
        self._all_stale = True
        self.topology_change_ns = time.time_ns()
        fresh = self.topology.waypoints() - self._waypoints
        if fresh:
            self._waypoints |= fresh
            self._move_behind(fresh)

    def _move_behind(self, waypoints: set[str]) -> None:
        """Let receivers that came before these waypoints were known get what comes out of the queues."""
        for key in [key for key in self.consumers if key.startswith("M0")]:
            if any(addresses.matches(prefix, addresses.plain(key)) for prefix in waypoints):
                for link in list(self.consumers[key]):
                    if link.peer.role in (NORMAL, EDGE):
                        self._move(link, key)

    def _move(self, link: OutLink, key: str) -> None:
        self.consumers[key].remove(link)
        self._stale_keys.add(key)
        self.add_consumer(addresses.phased(key, 1), link)

    # -- time ---------------------------------------------------------------------------------------------

    def after_turn(self) -> None:
        """Do once what the events of a turn have made necessary: advertise, renew routes, give credit."""
        if self.mesh.changed or self._all_stale:
            self.edges.tell_link_routes()
        if self.mesh.changed:
            self.mesh.advertise()
            self.edges.update_proxies()
        if self._all_stale or self._stale_keys:
            stale, self._stale_keys = self._stale_keys, set()
            everything, self._all_stale = self._all_stale, False
            for route in list(self.routes.values()):
                if everything or route.key in stale:
                    route.refresh()
        while self.credit_due:
            self.credit_due.popitem()[1].replenish()

    def recheck_credit_of_all(self) -> None:
        """Look at the credit of every incoming link, since faults have changed."""
        for link in self.links.values():
            if isinstance(link, InLink):
                self.credit_due[link.identity] = link
            elif isinstance(link, RoutedLink):
                link.on_flow()

    def every_second(self) -> None:
        """Update rates, drop what is unused, repeat the advert and send heartbeats."""
        now_ns = time.monotonic_ns()
        for link in self.links.values():
            link.watch_credit(now_ns)
            link.watch_rate()
        for name, route in list(self.routes.items()):
            if route.idle and now_ns - route.used_ns > _IDLE_NS:
                del self.routes[name]
                route.close()
        named = {key for key, _, _ in self.routes}
        for key in set(self.counters.addresses) - named - set(self.consumers) - set(self.in_process):
            del self.counters.addresses[
                key
            ]  # no route, consumer or part of this router has the address any more
        self.mesh.watch_neighbours()
        self.mesh.resend_own_advert()
        now = time.time()
        for amqp_socket in list(self.loop.sockets.values()):
            amqp_socket.transport.tick(now)
            self.loop.to_flush[amqp_socket.key] = amqp_socket
        self.loop.call_later(1.0, self.every_second)
