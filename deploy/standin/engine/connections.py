"""Connections that others open here, and those that the router opens, again each time they end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import proton

from collectors.config.secrets import read_password
from deploy.errors import Problem
from deploy.standin.engine.amqp_socket import AmqpSocket
from deploy.standin.engine.events import Events
from deploy.standin.engine.passwords import PasswordServer, read_users
from deploy.standin.engine.peers import Peer

if TYPE_CHECKING:
    import socket

    from deploy.standin.routing.router import Router
    from deploy.standin.settings import Connector, Listener

_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_IDLE_TIMEOUT_SECONDS = 16
_MAX_FRAME_BYTES = 16_384


class Connections:
    def __init__(self, router: Router) -> None:
        self.router = router
        self.events = Events(router)
        self.events.on_opened = self._opened
        self.events.on_closed = self._closed
        self.connector_states: dict[Connector, tuple[str, str]] = {}
        self.ports: list[int] = []
        self._tries: dict[Connector, int] = {}
        self._stopped = False
        self._password_servers: list[PasswordServer] = []

    def start(self) -> list[int]:
        self.ports = [self._listen(listener) for listener in self.router.settings.listeners]
        settings = self.router.settings
        brokers = {auto.connector for auto in settings.auto_links}
        brokers |= {route.connector for route in settings.link_routes}
        for connector in (*settings.connectors, *sorted(brokers, key=lambda c: (c.host, c.port))):
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
        flavour = self.router.flavour
        amqp_socket = peer.socket
        amqp_socket.connection.container = self.router.id
        amqp_socket.connection.properties = {
            proton.symbol("product"): flavour.product,
            proton.symbol("version"): flavour.version,
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

    def _closed(self, peer: Peer) -> None:
        if peer.connector:
            self.connector_states[peer.connector] = (
                "FAILED",
                f"Connection to {peer.host} failed: not connected",
            )
            self._retry_later(peer.connector)


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
