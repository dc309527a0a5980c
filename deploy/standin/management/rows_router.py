"""Rows of the router as a whole, of the routers that it knows, and of its memory."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.standin.management import rows_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deploy.standin.routing.router import Router

    Row = Mapping[str, Any]

_SECOND_NS = 1_000_000_000
_BLOCKED_SECONDS = 10
_DELIVERY_BYTES = sys.getsizeof([None] * 12)


class RouterRows:
    def __init__(self, router: Router, links: rows_links.LinkRows) -> None:
        self._router = router
        self._links = links

    def _deliveries(self) -> dict[str, Any]:
        router, counters = self._router, self._router.counters
        links = router.links.values()
        virtual, resident = _memory_bytes()
        return {
            "id": router.id,
            "addrCount": sum(1 for _ in self._links.addresses()),
            "linkCount": len(router.links),
            "nodeCount": max(0, len(router.topology.routers()) - 1),
            "linkRouteCount": len(router.settings.link_routes),
            "autoLinkCount": len(router.settings.auto_links),
            "connectionCount": len(router.peers),
            "presettledDeliveries": counters.presettled,
            "droppedPresettledDeliveries": counters.dropped_presettled,
            "acceptedDeliveries": counters.accepted,
            "rejectedDeliveries": counters.rejected,
            "releasedDeliveries": counters.released,
            "modifiedDeliveries": counters.modified,
            "deliveriesDelayed1Sec": counters.delayed_1_second,
            "deliveriesDelayed10Sec": counters.delayed_10_seconds,
            "deliveriesStuck": sum(rows_links.stuck(link) for link in links),
            "deliveriesIngress": counters.ingress,
            "deliveriesEgress": counters.egress,
            "deliveriesTransit": counters.transit,
            "deliveriesIngressRouteContainer": counters.ingress_route_container,
            "deliveriesEgressRouteContainer": counters.egress_route_container,
            "deliveriesIngressInterNetwork": 0,
            "deliveriesEgressInterNetwork": 0,
            "deliveriesRedirectedToFallback": 0,
            "linksBlocked": sum(
                1 for link in links if rows_links.zero_credit_seconds(link) >= _BLOCKED_SECONDS
            ),
            "uptimeSeconds": (time.monotonic_ns() - router.started_ns) // _SECOND_NS,
            "memoryUsage": virtual,
            "residentMemoryUsage": resident,
            "connectionCounters": {"amqp": len(router.peers), "http1": 0, "http2": 0, "tcp": 0},
        }

    def routers(self) -> Iterator[Row]:
        router, flavour = self._router, self._router.flavour
        whole = flavour.counters_on_router
        yield {
            **(self._deliveries() if whole else {"id": router.id}),
            "name": router.id if whole else f"router/{router.id}",
            "identity": "1" if whole else f"router/{router.id}",
            "mode": router.settings.mode,
            "area": "0",
            "version": flavour.version if whole else None,
            "workerThreads": 1,
            "hostName": "localhost",
            "helloIntervalSeconds": 1,
            "helloMaxAgeSeconds": 3,
            "raIntervalSeconds": 30,
            "raIntervalFluxSeconds": 4,
            "remoteLsMaxAgeSeconds": 60,
            "unreachableHoldoffSeconds": 1,
            "saslConfigName": "stand-in",
            "defaultDistribution": "balanced",
            "dataConnectionCount": "0",
            "dropTcpConnections": True,
        }

    def metrics(self) -> Iterator[Row]:
        # Both as in skrouterd: the type of dispatch, and the version under an empty name.
        yield {
            **self._deliveries(),
            "identity": "1",
            "type": "org.apache.qpid.dispatch.routerMetrics",
            "": self._router.flavour.version,
        }

    def nodes(self) -> Iterator[Row]:
        router, topology = self._router, self._router.topology
        if router.settings.mode == "edge":
            return
        costs = topology.tree(router.id).costs
        for name in topology.routers():
            me = name == router.id
            hop = None if me else topology.next_hop(router.id, name)
            neighbour = router.mesh.neighbours.get(name)
            advert = topology.adverts[name]
            yield {
                "id": name,
                "protocolVersion": 1,
                "instance": advert.boot_ns // _SECOND_NS,
                "linkState": list(advert.neighbours),
                "nextHop": "(self)" if me else None if hop == name else hop,
                "validOrigins": [] if me else topology.valid_origins(name),
                "address": f"amqp:/_topo/0/{name}",
                "routerLink": list(router.mesh.neighbours).index(name) if neighbour else None,
                "cost": None if me else costs[name],
                "lastTopoChange": router.topology_change_ns // _SECOND_NS if me else None,
                "index": topology.indexes[name],
                "name": f"router.node/{name}",
                "identity": f"router.node/{name}",
            }

    def allocator(self) -> Iterator[Row]:
        """Yield the few allocator types that a stand-in can count."""
        router = self._router
        held = sum(rows_links.open_deliveries(link) for link in router.links.values())
        born = router.counters.arrivals
        for name, size, made, now in (
            ("qd_connection_t", sys.getsizeof(router), router.counters.connections, len(router.peers)),
            ("qdr_link_t", sys.getsizeof(router), router.counters.links, len(router.links)),
            ("qdr_delivery_t", _DELIVERY_BYTES, max(born, held), held),
        ):
            yield {
                "typeName": name,
                "typeSize": size,
                "transferBatchSize": 1,
                "localFreeListMax": 0,
                "globalFreeListMax": 0,
                "totalAllocFromHeap": made,
                "totalFreeToHeap": made - now,
                "heldByThreads": now,
                "batchesRebalancedToThreads": 0,
                "batchesRebalancedToGlobal": 0,
                "name": f"allocator/{name}",
                "identity": f"allocator/{name}",
            }


def _memory_bytes() -> tuple[int, int]:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    size = os.sysconf("SC_PAGE_SIZE")
    return int(pages[0]) * size, int(pages[1]) * size
