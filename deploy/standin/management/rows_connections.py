"""Rows of connections, connectors, listeners, configured addresses and auto-links."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deploy.standin.engine.connections import Connections
    from deploy.standin.routing.router import Router

    Row = Mapping[str, Any]

_SECOND_NS = 1_000_000_000
_ENDPOINT: Row = {
    "maxFrameSize": 16_384,
    "maxSessions": 32_768,
    "idleTimeoutSeconds": 16,
    "stripAnnotations": "both",
    "messageLoggingComponents": "none",
}


class ConnectionRows:
    def __init__(self, router: Router, connections: Connections) -> None:
        self._router = router
        self._connections = connections

    def connections(self) -> Iterator[Row]:
        now_ns = time.monotonic_ns()
        for peer in list(self._router.peers.values()):
            if not peer.opened:
                continue
            transport = peer.socket.transport
            idle_ns = now_ns - peer.last_delivery_ns
            yield {
                "name": f"connection/{peer.host}",
                "identity": str(peer.identity),
                "host": peer.host,
                "role": peer.role,
                "protocol": "amqp",
                "dir": peer.direction,
                "container": peer.container,
                "sasl": transport.sasl().mech or "ANONYMOUS",
                "isAuthenticated": True,
                "user": transport.user if peer.direction == "in" else None,
                "isEncrypted": bool(transport.encrypted),
                "sslProto": peer.socket.ssl.protocol_name() if peer.socket.ssl else None,
                "sslCipher": peer.socket.ssl.cipher_name() if peer.socket.ssl else None,
                "properties": _plain(peer.socket.connection.remote_properties),
                "sslSsf": 0,
                "ssl": bool(transport.encrypted),
                "opened": True,
                "active": True,
                "adminStatus": "enabled",
                "operStatus": "up",
                "uptimeSeconds": (now_ns - peer.opened_ns) // _SECOND_NS,
                "lastDlvSeconds": idle_ns // _SECOND_NS if peer.last_delivery_ns else None,
                "enableProtocolTrace": False,
            }

    def connectors(self) -> Iterator[Row]:
        for connector, (status, text) in self._connections.connector_states.items():
            place = f"{connector.host}:{connector.port}"
            name = connector.name or f"connector/{place}"
            yield {
                **_ENDPOINT,
                "host": connector.host,
                "port": str(connector.port),
                "role": connector.role,
                "cost": connector.cost,
                "saslMechanisms": "PLAIN" if connector.user else "ANONYMOUS",
                "allowRedirect": True,
                "verifyHostname": True,
                "saslUsername": connector.user,
                "failoverUrls": f"amqp://{place}",
                "connectionStatus": status,
                "connectionMsg": text,
                "name": name,
                "identity": f"connector/{place}:{name}" if connector.name else name,
            }

    def listeners(self) -> Iterator[Row]:
        for listener, port in zip(self._router.settings.listeners, self._connections.ports, strict=False):
            name = f"listener/{listener.host}:{port}"
            yield {
                **_ENDPOINT,
                "host": listener.host,
                "port": str(port),
                "role": listener.role,
                "cost": 1,
                "sslProfile": "stand-in" if listener.cert else None,
                "saslMechanisms": "PLAIN" if listener.users else "ANONYMOUS",
                "authenticatePeer": bool(listener.users),
                "requireEncryption": False,
                "requireSsl": bool(listener.cert),
                "initialHandshakeTimeoutSeconds": 0,
                "stripAnnotations": listener.strip_annotations,
                "multiTenant": False,
                "healthz": False,
                "metrics": False,
                "websockets": False,
                "http": False,
                "name": name,
                "identity": name,
            }

    def config_addresses(self) -> Iterator[Row]:
        waypoints = [
            (name, addresses.distribution("M0" + name), True) for name in self._router.settings.waypoints
        ]
        fixed = [(prefix, kind, False) for prefix, kind in addresses.DISTRIBUTIONS]
        for number, (prefix, kind, waypoint) in enumerate(fixed + waypoints):
            yield {
                "name": f"address/{number}",
                "identity": str(number + 1),
                "prefix": prefix,
                "distribution": kind,
                "waypoint": waypoint,
                "ingressPhase": 0,
                "egressPhase": int(waypoint),
                "priority": -1,
                "fallback": False,
            }

    def auto_links(self) -> Iterator[Row]:
        auto_links = self._router.auto_links
        for number, auto in enumerate(self._router.settings.auto_links):
            link, error = auto_links.active_link(auto), auto_links.error(auto)
            yield {
                "name": f"autoLink/{number}",
                "identity": str(auto_links.identity(auto)),
                "address": auto.address,
                "addr": auto.address,
                "direction": auto.direction,
                "dir": auto.direction,
                "phase": int(auto.direction == "in"),
                "connection": auto.connector.name,
                "linkRef": str(link.identity) if link else None,
                "operStatus": "active" if link else "failed" if error else "inactive",
                "lastError": error,
                "fallback": False,
            }

    def link_routes(self) -> Iterator[Row]:
        router = self._router
        peers = list(router.peers.values())
        for number, route in enumerate(router.settings.link_routes):
            led = any(
                peer.connector == route.connector and router.link_routes.active(route.key, peer)
                for peer in peers
            )
            yield {
                "name": f"linkRoute/{number}",
                "identity": str(router.link_routes.identities[number]),
                "prefix": route.prefix,
                "distribution": "linkBalanced",
                "connection": route.connector.name,
                "direction": route.direction,
                "dir": route.direction,
                "operStatus": "active" if led else "inactive",
            }


def _plain(properties: Any) -> dict[str, Any]:
    return {str(key): value for key, value in (properties or {}).items()}
