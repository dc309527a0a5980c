"""Rows of links and addresses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from deploy.standin.engine.links import InLink, OutLink
from deploy.standin.engine.routed_links import RoutedLink
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deploy.standin.engine.links import Link, Transit
    from deploy.standin.engine.routed_links import Passage
    from deploy.standin.routing.router import Router

    Row = Mapping[str, Any]

_SECOND_NS = 1_000_000_000
_STUCK_NS = 10 * _SECOND_NS
_SHOWN = {"edge-control": "endpoint"}  # kinds that real routers do not have
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
                "linkType": _SHOWN.get(link.kind, link.kind),
                "linkDir": link.direction,
                "owningAddr": self._key(link.owning_key),
                "capacity": link.capacity,
                "peer": None if link.paired is None else str(link.paired),
                "undeliveredCount": len(link.queue) if isinstance(link, OutLink) else 0,
                "unsettledCount": len(_unsettled(link)),
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
                "ingressHistogram": list(link.histogram) if link.histogram else None,
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
        owned = {link.owning_key for link in router.links.values() if link.owning_key and not link.paired}
        led = dict(router.link_routes.rows())
        for name in topology.routers()[1:]:
            for key in topology.adverts[name].link_routes:
                remote.setdefault(key, []).append(name)
        for key in dict.fromkeys([*router.in_process, *remote, *router.consumers, *owned, *led]):
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
                "distribution": _distribution(key, led),
                "inProcess": int(key in router.in_process or key == "Lqdhello"),
                "subscriberCount": consumers,
                "remoteCount": len(hosts),
                "containerCount": led.get(key, 0),
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


def _distribution(key: str, led: Mapping[str, int]) -> str:
    if key in led:
        return "linkBalanced"
    return "flood" if key == "Lqdhello" else addresses.distribution(key)


def open_deliveries(link: Link) -> int:
    if isinstance(link, OutLink):
        return link.open_deliveries
    return len(_unsettled(link)) if link.direction == "in" else 0


def stuck(link: Link) -> int:
    before_ns = time.monotonic_ns() - _STUCK_NS
    waiting = [*_unsettled(link).values(), *(link.queue if isinstance(link, OutLink) else ())]
    return sum(1 for each in waiting if each.born_ns < before_ns)


def _unsettled(link: Link) -> Mapping[int, Transit | Passage]:
    return link.unsettled if isinstance(link, InLink | OutLink | RoutedLink) else {}


def zero_credit_seconds(link: Link) -> int:
    if link.credit > 0 or not link.zero_credit_since_ns:
        return 0
    return (time.monotonic_ns() - link.zero_credit_since_ns) // _SECOND_NS
