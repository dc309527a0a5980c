"""Connections in and out: accepted, made, made again when they end; and the auto-links on them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import proton

from collectors.config.secrets import read_password
from deploy.errors import Problem
from deploy.standin.engine import peers
from deploy.standin.engine.events import Events
from deploy.standin.engine.loop import AmqpSocket
from deploy.standin.engine.passwords import PasswordServer, read_users
from deploy.standin.engine.peers import Peer
from deploy.standin.management.schema import VERSIONS
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    import socket

    from deploy.standin.engine.links import Link
    from deploy.standin.routing.router import Router
    from deploy.standin.settings import AutoLink, Connector, Listener

_log = logging.getLogger("inflight.standin")
_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_REATTACH_SECONDS = 1.0
_IDLE_TIMEOUT_SECONDS = 16
_MAX_FRAME_BYTES = 16_384
PRODUCTS = {"dispatch": "qpid-dispatch-router", "skupper": "skupper-router"}


class Connections:
    def __init__(self, router: Router) -> None:
        self.router = router
        self.events = Events(router)
        self.events.on_opened = self._opened
        self.events.on_closed = self._closed
        self.events.on_attached = self._attached
        self.events.on_detached = self._detached
        self.connector_states: dict[Connector, tuple[str, str]] = {}
        self.auto_links: dict[AutoLink, Link] = {}
        self.auto_link_errors: dict[AutoLink, str] = {}
        self.auto_link_identities = {auto: router.next_identity() for auto in router.settings.auto_links}
        self.ports: list[int] = []
        self._active: set[AutoLink] = set()
        self._tries: dict[Connector, int] = {}
        self._stopped = False
        self._password_servers: list[PasswordServer] = []

    def start(self) -> list[int]:
        self.ports = [self._listen(listener) for listener in self.router.settings.listeners]
        brokers = {auto.connector for auto in self.router.settings.auto_links}
        for connector in (*self.router.settings.connectors, *sorted(brokers, key=lambda c: (c.host, c.port))):
            self._connect(connector)
        return self.ports

    def stop(self) -> None:
        self._stopped = True
        for passwords in self._password_servers:
            passwords.close()

    def _listen(self, listener: Listener) -> int:
        domain = _tls_domain(listener)
        passwords = PasswordServer(read_users(listener.users)) if listener.users else None
        if passwords:
            self._password_servers.append(passwords)

        def accepted(sock: socket.socket) -> None:
            host, port = sock.getpeername()[:2]
            amqp_socket = AmqpSocket(self.router.loop, sock, server=True, domain=domain)
            if passwords:
                passwords.require(amqp_socket.transport)
            self._start_amqp(
                Peer(
                    self.router,
                    amqp_socket,
                    self.router.next_identity(),
                    host=f"{host}:{port}",
                    listener=listener,
                    connector=None,
                )
            )

        return self.router.loop.listen(listener.host, listener.port, accepted)

    def _start_amqp(self, peer: Peer) -> None:
        flavour = self.router.settings.flavour
        amqp_socket = peer.socket
        amqp_socket.connection.container = self.router.id
        amqp_socket.connection.properties = {
            proton.symbol("product"): PRODUCTS[flavour],
            proton.symbol("version"): VERSIONS[flavour],
            proton.symbol("qd.conn-id"): peer.identity,
            proton.symbol("qd.annotations-version"): 1,
            proton.symbol("standin.role"): peer.role,
            proton.symbol("standin.cost"): peer.cost,
        }
        amqp_socket.transport.idle_timeout = _IDLE_TIMEOUT_SECONDS
        amqp_socket.transport.max_frame_size = _MAX_FRAME_BYTES
        self.events.add(peer)
        if peer.connector:
            self._set_credentials(peer)
            amqp_socket.connection.open()
        amqp_socket.bind()

    @staticmethod
    def _set_credentials(peer: Peer) -> None:
        connector, sasl = peer.connector, peer.socket.transport.sasl()
        if connector and connector.user:
            sasl.allow_insecure_mechs = True
            sasl.allowed_mechs("PLAIN")
            peer.socket.connection.user = connector.user
            peer.socket.connection.password = read_password(Path(connector.password_file or ""))
        else:
            sasl.allowed_mechs("ANONYMOUS")

    def _connect(self, connector: Connector) -> None:
        if self._stopped:
            return
        try:
            sock = self.router.loop.connect(connector.host, connector.port)
        except OSError as error:
            self.connector_states[connector] = ("FAILED", str(error))
            self._retry_later(connector)
            return
        self.connector_states.setdefault(connector, ("CONNECTING", ""))
        amqp_socket = AmqpSocket(self.router.loop, sock, server=False)
        host = f"{connector.host}:{connector.port}"
        self._start_amqp(
            Peer(
                self.router,
                amqp_socket,
                self.router.next_identity(),
                host=host,
                listener=None,
                connector=connector,
            )
        )

    def _retry_later(self, connector: Connector) -> None:
        tries = self._tries.get(connector, 0)
        self._tries[connector] = tries + 1
        seconds = _RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)]
        self.router.loop.call_later(seconds, lambda: self._connect(connector))

    def _opened(self, peer: Peer) -> None:
        if peer.connector is None:
            return
        self._tries[peer.connector] = 0
        self.connector_states[peer.connector] = (
            "SUCCESS",
            f"[C{peer.identity}] Connection Opened: dir=out host={peer.host} container_id={peer.container}",
        )
        for auto in self.router.settings.auto_links:
            if auto.connector == peer.connector:
                self._attach(auto, peer)

    def _closed(self, peer: Peer) -> None:
        if peer.connector:
            self.connector_states[peer.connector] = (
                "FAILED",
                f"Connection to {peer.host} failed: not connected",
            )
            self._retry_later(peer.connector)

    # -- auto-links ---------------------------------------------------------------------------------------

    def _attach(self, auto: AutoLink, peer: Peer) -> None:
        if not peer.opened:
            return
        router = self.router
        self._active.discard(auto)
        name = f"autoLink.{router.id}.{auto.direction}.{auto.address}"
        if auto.direction == "in":
            link = peer.own_session().receiver(name)
            terminus = link.source
        else:
            link = peer.own_session().sender(name)
            terminus = link.target
        terminus.address = auto.address
        terminus.capabilities.put_object(proton.symbol("queue"))
        link.open()
        if auto.direction == "in":
            incoming = router.add_in_link(peer, link, "endpoint")
            incoming.owning_key = addresses.phased(addresses.parse(auto.address).key, 1)
            self.auto_links[auto] = incoming
        else:
            self.auto_links[auto] = router.add_out_link(peer, link, "endpoint", None)
            self.auto_links[auto].owning_key = addresses.parse(auto.address).key

    def _attached(self, link: Link) -> None:
        """The broker has answered; a null terminus is its way to say that a refusal follows."""
        auto = self._auto_link(link)
        if auto is None:
            return
        terminus = (
            link.proton_link.remote_source if auto.direction == "in" else link.proton_link.remote_target
        )
        if terminus.address is None:
            return
        self.auto_link_errors.pop(auto, None)
        self._active.add(auto)
        if auto.direction == "in":
            self.router.route(link.owning_key or "", self.router.id, None).attach(link)  # type: ignore[arg-type]
        else:
            self.router.add_consumer(link.owning_key or "", link)  # type: ignore[arg-type]

    def _detached(self, link: Link) -> None:
        auto = self._auto_link(link)
        if auto is None:
            return
        condition = link.proton_link.remote_condition
        self.auto_link_errors[auto] = (
            str(condition.description or condition.name) if condition else "detached"
        )
        _log.warning("auto-link %s %s: %s", auto.direction, auto.address, self.auto_link_errors[auto])
        peer = link.peer
        self.router.loop.call_later(_REATTACH_SECONDS, lambda: self._attach(auto, peer))

    def active(self, auto: AutoLink) -> bool:
        link = self.auto_links.get(auto)
        return auto in self._active and link is not None and not link.closed

    def _auto_link(self, link: Link) -> AutoLink | None:
        if link.peer.role != peers.ROUTE_CONTAINER:
            return None
        return next((auto for auto, known in self.auto_links.items() if known is link), None)


def _tls_domain(listener: Listener) -> proton.SSLDomain | None:
    if not listener.cert:
        return None
    domain = proton.SSLDomain(proton.SSLDomain.MODE_SERVER)
    try:
        domain.set_credentials(listener.cert, listener.key, None)
    except proton.SSLException as error:
        raise Problem(
            f"--listen {listener.host}:{listener.port}: cert={listener.cert} and key={listener.key} are no"
            f" pair that can be used: {error}"
        ) from error
    return domain
