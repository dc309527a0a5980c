"""The peer of a connection: a client, a broker, another router or an edge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import proton

if TYPE_CHECKING:
    from deploy.standin.engine.amqp_socket import AmqpSocket
    from deploy.standin.engine.links import Link
    from deploy.standin.routing.router import Router
    from deploy.standin.settings import Connector, Listener

NORMAL, INTER_ROUTER, EDGE, ROUTE_CONTAINER = "normal", "inter-router", "edge", "route-container"


class Peer:
    def __init__(
        self,
        router: Router,
        amqp_socket: AmqpSocket,
        identity: int,
        *,
        host: str,
        listener: Listener | None,
        connector: Connector | None,
    ) -> None:
        self.router = router
        self.socket = amqp_socket
        self.identity = identity
        self.host = host
        self.listener = listener
        self.connector = connector
        self.role = connector.role if connector else NORMAL
        self.cost = connector.cost if connector else 1
        self.container: str | None = None
        self.opened_ns = time.monotonic_ns()
        self.opened = False
        self.last_delivery_ns = 0
        self.links: dict[int, Link] = {}
        self.session: proton.Session | None = None

    @property
    def direction(self) -> str:
        return "out" if self.connector else "in"

    @property
    def keeps_annotations(self) -> bool:
        return bool(self.listener and self.listener.strip_annotations in ("no", "in"))

    def own_session(self) -> proton.Session:
        if self.session is None:
            self.session = self.socket.connection.session()
            self.session.open()
        return self.session

    def forget_session(self, session: Any) -> None:
        """Have `own_session` open another one, if it is this that the peer has ended."""
        if self.session is not None and self.session._impl == session:  # noqa: SLF001 -- as in the events
            self.session = None
