"""Handlers of proton's events: each changes the router's tables, or moves a message on."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import proton
from cproton_ffi import lib

from deploy.standin.engine import peers
from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.deliveries import Deliveries
from deploy.standin.engine.links import OutLink
from deploy.standin.engine.routed_links import RoutedLink

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.standin.engine.amqp_socket import AmqpSocket
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router

_log = logging.getLogger("inflight.standin")


def _ignore(_what: object) -> None:
    pass


class Events:
    def __init__(self, router: Router) -> None:
        self.router = router
        self.on_closed: Callable[[Peer], None] = _ignore
        self.on_opened: Callable[[Peer], None] = _ignore
        self._peers: dict[int, Peer] = {}  # by the key of their socket
        router.loop.handlers.update(
            {
                lib.PN_CONNECTION_REMOTE_OPEN: self._connection_open,
                lib.PN_CONNECTION_REMOTE_CLOSE: self._connection_close,
                lib.PN_TRANSPORT_CLOSED: self._transport_closed,
                lib.PN_SESSION_REMOTE_OPEN: self._session_open,
                lib.PN_SESSION_REMOTE_CLOSE: self._session_close,
                lib.PN_LINK_REMOTE_OPEN: self._link_open,
                lib.PN_LINK_REMOTE_CLOSE: self._link_close,
                lib.PN_LINK_REMOTE_DETACH: self._link_close,
                lib.PN_LINK_FLOW: self._flow,
                lib.PN_DELIVERY: Deliveries(router).on_delivery,
            }
        )

    def add(self, peer: Peer) -> None:
        self._peers[peer.socket.key] = peer
        self.router.peers[peer.identity] = peer
        self.router.counters.connections += 1

    def _peer_of(self, connection: Any) -> Peer | None:
        amqp_socket: AmqpSocket | None = self.router.loop.sockets_by_connection.get(key_of(connection))
        return self._peers.get(amqp_socket.key) if amqp_socket else None

    # -- connections --------------------------------------------------------------------------------------

    def _connection_open(self, event: Any) -> None:
        peer = self._peer_of(lib.pn_event_connection(event))
        if peer is None:
            return
        connection = peer.socket.connection
        properties = connection.remote_properties or {}
        peer.container = connection.remote_container
        peer.opened = True
        peer.opened_ns = time.monotonic_ns()
        if peer.connector is None:
            peer.role = str(properties.get("standin.role", peers.NORMAL))
            peer.cost = int(properties.get("standin.cost", 1))
            connection.open()
        elif peer.role in (peers.INTER_ROUTER, peers.EDGE) and "standin.role" not in properties:
            _log.error("%s is no stand-in: stand-ins form meshes only with each other", peer.host)
            connection.close()
            return
        _log.info("connection %s: %s %s %s", peer.identity, peer.direction, peer.role, peer.container)
        self.router.joined(peer)
        self.on_opened(peer)

    def _connection_close(self, event: Any) -> None:
        peer = self._peer_of(lib.pn_event_connection(event))
        if peer:
            self._remove_links(peer)
            peer.socket.connection.close()

    def _transport_closed(self, event: Any) -> None:
        amqp_socket = self.router.loop.sockets.get(key_of(lib.pn_event_transport(event)))
        if amqp_socket is None:
            return
        peer = self._peers.pop(amqp_socket.key, None)
        if peer:
            condition = amqp_socket.transport.condition
            _log.info(
                "connection %s to %s ended%s", peer.identity, peer.host, f": {condition}" if condition else ""
            )
            self._remove_links(peer)
            self.router.peers.pop(peer.identity, None)
        amqp_socket.remove()
        if peer:
            self.on_closed(peer)

    def _remove_links(self, peer: Peer) -> None:
        peer.opened = False
        self.router.left(peer)
        links = list(peer.links.values())
        for link in sorted(links, key=lambda link: isinstance(link, OutLink)):  # incoming ones first
            self.router.remove_link(link)

    @staticmethod
    def _session_open(event: Any) -> None:
        session = lib.pn_event_session(event)
        if lib.pn_session_state(session) & lib.PN_LOCAL_UNINIT:
            lib.pn_session_open(session)

    def _session_close(self, event: Any) -> None:
        session = lib.pn_event_session(event)
        peer = self._peer_of(lib.pn_session_connection(session))
        if peer:
            for link in list(peer.links.values()):
                if lib.pn_link_session(link.pn) == session:
                    self.router.remove_link(link)
            peer.forget_session(session)
        lib.pn_session_close(session)

    # -- links --------------------------------------------------------------------------------------------

    def _link_open(self, event: Any) -> None:
        pn = lib.pn_event_link(event)
        known = self.router.links.get(key_of(pn))
        if isinstance(known, RoutedLink):
            known.opened()
            return
        if known:
            self.router.auto_links.attached(known)
            return
        peer = self._peer_of(lib.pn_event_connection(event))
        link = proton.Link.wrap(pn)
        if peer is None or not link.state & proton.Endpoint.LOCAL_UNINIT:
            return
        if link.is_receiver and proton.symbol("standin.control") in (link.remote_properties or {}):
            self.router.told_by(peer, link)
        elif link.is_receiver and proton.symbol("standin.route") in (link.remote_properties or {}):
            self.router.mesh.accept_link(peer, link)
        elif self.router.link_routes.take(peer, link):
            pass
        elif link.is_receiver:
            self._open_in_link(peer, link)
        else:
            self._open_out_link(peer, link)

    def _open_in_link(self, peer: Peer, link: proton.Link) -> None:
        router, target = self.router, link.remote_target
        if target.type == proton.Terminus.COORDINATOR:
            router.refuse_link(link, "amqp:not-implemented", "routers have no transactions")
            return
        if target.dynamic:
            router.refuse_link(link, "amqp:not-implemented", "a sender's target cannot be dynamic")
            return
        link.source.copy(link.remote_source)
        link.target.copy(target)
        link.snd_settle_mode = link.remote_snd_settle_mode
        link.open()
        made = router.add_in_link(peer, link, "endpoint")
        if target.address is None:
            made.replenish()
            return
        route = router.route_from_here(target.address)
        made.owning_key = route.key if route.target in (None, router.id, route.TREE) else f"R{route.target}"
        route.attach(made)

    def _open_out_link(self, peer: Peer, link: proton.Link) -> None:
        router, source = self.router, link.remote_source
        if source.address is None and not source.dynamic:
            router.refuse_link(link, "qd:no-route-to-dest", "a receiver needs an address, or a dynamic one")
            return
        link.source.copy(source)
        link.target.copy(link.remote_target)
        link.snd_settle_mode = link.remote_snd_settle_mode
        if source.dynamic:
            link.source.address = router.temporary_address()
        link.open()
        made = router.add_out_link(peer, link, "endpoint", None)
        router.add_consumer(router.consumer_key(link.source.address), made)

    def _link_close(self, event: Any) -> None:
        pn = lib.pn_event_link(event)
        link = self.router.links.get(key_of(pn))
        if isinstance(link, RoutedLink):
            link.ended_by_peer(detached=lib.pn_event_type(event) == lib.PN_LINK_REMOTE_DETACH)
        elif link:
            self.router.auto_links.detached(link)
            self.router.remove_link(link)

    def _flow(self, event: Any) -> None:
        link = self.router.links.get(key_of(lib.pn_event_link(event)))
        if isinstance(link, OutLink):
            link.on_credit()
        elif isinstance(link, RoutedLink):
            link.on_flow()
