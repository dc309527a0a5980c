"""Rows of links and addresses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from deploy.standin.engine import credit
from deploy.standin.engine.links import InLink, OutLink
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deploy.standin.engine.links import Link
    from deploy.standin.routing.router import Router

    Row = Mapping[str, Any]

_SECOND_NS = 1_000_000_000
_STUCK_NS = 10 * _SECOND_NS
_NODES = 128  # length of real routers' arrays by router index


class LinkRows:
    def __init__(self, router: Router) -> None:
        self._router = router

    def links(self) -> Iterator[Row]:
        for link in list(self._router.links.values()):
            counters = link.counters
            yield {
                "name": link.name,
                "identity": str(link.identity),
                "linkName": link.name,
                "linkType": link.kind,
                "linkDir": link.direction,
                "owningAddr": self._key(link.owning_key),
                "capacity": credit.CAPACITY,
                "peer": None,
                "undeliveredCount": len(link.queue) if isinstance(link, OutLink) else 0,
                "unsettledCount": len(link.unsettled) if isinstance(link, InLink | OutLink) else 0,
                "deliveryCount": counters.deliveries,
                "connectionId": str(link.peer.identity),
                "adminStatus": "enabled",
                "operStatus": "up",
                "presettledCount": counters.presettled,
                "droppedPresettledCount": counters.dropped_presettled,
                "acceptedCount": counters.accepted,
                "rejectedCount": counters.rejected,
                "releasedCount": counters.released,
                "modifiedCount": counters.modified,
                "deliveriesDelayed1Sec": counters.delayed_1_second,
                "deliveriesDelayed10Sec": counters.delayed_10_seconds,
                "deliveriesStuck": stuck(link),
                "openMovedStreams": 0,
                "ingressHistogram": list(link.histogram)
                if isinstance(link, OutLink) and link.histogram
                else None,
                "priority": 9 if link.kind == "router-control" else 4,
                "settleRate": counters.settle_rate,
                "creditAvailable": link.credit,
                "zeroCreditSeconds": zero_credit_seconds(link),
            }

    def _key(self, key: str | None) -> str | None:
        """Return the key as the flavour writes it."""
        if key is None or not key.startswith("M") or self._router.flavour.phase_in_keys:
            return key
        return "M" + addresses.plain(key)

    def addresses(self) -> Iterator[Row]:
        router, topology = self._router, self._router.topology
        remote: dict[str, list[str]] = {f"H{edge}": [] for edge in router.edges.down}
        for name in topology.routers()[1:]:
            remote[f"R{name}"] = [name]
            for key in topology.adverts[name].consumers:
                remote.setdefault(key, []).append(name)
            for edge in topology.adverts[name].edges:
                remote.setdefault(f"H{edge}", []).append(name)
        owned = {link.owning_key: None for link in router.links.values() if link.owning_key}
        for key in dict.fromkeys([*router.in_process, *remote, *router.consumers, *owned]):
            counters = router.counters.address(key)
            hosts = remote.get(key, [])
            consumers = len(router.consumers.get(key, ()))
            if key == "Lqdhello":
                consumers = len(router.mesh.neighbours)
            elif key.startswith("H") and key[1:] in router.edges.down:
                consumers = 1
            shown = self._key(key)
            yield {
                "name": shown,
                "identity": shown,
                "key": shown,
                "distribution": "flood" if key == "Lqdhello" else addresses.distribution(key),
                "inProcess": int(key in router.in_process or key == "Lqdhello"),
                "subscriberCount": consumers,
                "remoteCount": len(hosts),
                "containerCount": 0,
                "remoteHostRouters": hosts,
                "deliveriesIngress": counters.ingress,
                "deliveriesEgress": counters.egress,
                "deliveriesTransit": counters.transit,
                "deliveriesToContainer": counters.to_container,
                "deliveriesFromContainer": counters.from_container,
                "deliveriesEgressRouteContainer": counters.egress_route_container,
                "deliveriesIngressRouteContainer": counters.ingress_route_container,
                "deliveriesEgressInterNetwork": 0,
                "deliveriesIngressInterNetwork": 0,
                "transitOutstanding": self._outstanding(key),
                "trackedDeliveries": 0,
                "priority": -1,
                "deliveriesRedirectedToFallback": 0,
                "watch": False,
            }

    def _outstanding(self, key: str) -> list[int] | None:
        """Return the open deliveries towards each router, by its index, for a balanced address; else None."""
        if addresses.distribution(key) != addresses.BALANCED or key not in self._router.consumers:
            return None
        counts = [0] * _NODES
        for target, open_deliveries in self._router.mesh.outstanding(key):
            index = self._router.topology.indexes.get(target, _NODES)
            if index < _NODES:
                counts[index] += open_deliveries
        return counts


def open_deliveries(link: Link) -> int:
    if isinstance(link, OutLink):
        return link.open_deliveries
    return len(link.unsettled) if isinstance(link, InLink) else 0


def stuck(link: Link) -> int:
    before_ns = time.monotonic_ns() - _STUCK_NS
    waiting = list(link.unsettled.values()) if isinstance(link, InLink | OutLink) else []
    if isinstance(link, OutLink):
        waiting += link.queue
    return sum(1 for transit in waiting if transit.born_ns < before_ns)


def zero_credit_seconds(link: Link) -> int:
    if link.credit > 0 or not link.zero_credit_since_ns:
        return 0
    return (time.monotonic_ns() - link.zero_credit_since_ns) // _SECOND_NS
