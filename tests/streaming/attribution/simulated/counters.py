"""What a router or broker says of itself when it is asked: rows as collectors tell them, `state` aside."""

from __future__ import annotations

from typing import Any

from .broker import COUNTERS, Broker
from .parts import SECOND, Link, Router

Row = dict[str, Any]
LOCAL_CREDIT = 250


def of_links(router: Router, now_ns: int) -> list[Row]:
    """Links of paths' addresses to end points; between routers those that ever carried anything."""
    return [
        _link(link, now_ns) for link in router.links.values() if link.kind == "end" or link.deliveries > 0
    ]


def _link(link: Link, now_ns: int) -> Row:
    queued = len(link.queue)
    starved = link.direction == "out" and (link.stalled or bool(link.queue))
    since_ns = link.stalled_since_ns if link.stalled else now_ns
    return {
        "identity": link.identity,
        "name": f"link-{link.router.name}-{link.router.instance}-{link.identity}",
        "kind": link.kind,
        "direction": link.direction,
        "peer": link.peer,
        "own": link.own,
        "address": link.address,
        "phase": link.phase,
        "deliveries": link.deliveries,
        "presettled": link.presettled,
        "dropped_presettled": link.dropped,
        **link.outcomes,
        "undelivered": queued,
        "unsettled": len(link.unsettled),
        "credit": 0 if starved else max(0, LOCAL_CREDIT - len(link.unsettled)),
        "zero_credit_seconds": max(0, now_ns - since_ns) // SECOND,
    }


def of_addresses(router: Router) -> list[Row]:
    return [
        {
            "key": entity.key,
            "address": entity.address,
            "phase": entity.phase,
            "distribution": "balanced",
            "ingress": entity.ingress,
            "egress": entity.egress,
            "transit": entity.transit,
            "to_container": 0,
            "from_container": 0,
            "local": len(router.subscribers.get(entity.key, ())),
            "remote": len(router.hosts.get(entity.key, ())),
            "hosts": sorted(router.hosts.get(entity.key, ())),
        }
        for entity in router.entities.values()
    ]


def of_nodes(router: Router, routers: dict[str, Router]) -> list[Row]:
    """Each router that this one knows of; to itself no next hop leads but `(self)`, to a neighbour None."""
    known = [router.name, *router.next_hop]
    rows = []
    for name in known:
        other, hop = routers[name], router.next_hop.get(name)
        rows.append(
            {
                "id": name,
                "instance": other.instance,
                "neighbours": sorted(other.towards),
                "next_hop": "(self)" if name == router.name else None if hop == name else hop,
                "router_link": None if name == router.name or hop != name else 0,
                "cost": router.cost.get(name),
                "last_topology_change": None,
                "index": 0,
            }
        )
    return rows


def of_router(router: Router) -> Row:
    totals = {
        "presettled": sum(link.presettled for link in router.links.values()),
        "dropped_presettled": router.dropped,
        "ingress": sum(entity.ingress for entity in router.entities.values()),
        "egress": sum(entity.egress for entity in router.entities.values()),
        "transit": sum(entity.transit for entity in router.entities.values()),
    }
    return {
        "router": router.name,
        "flavour": router.flavour,
        "version": "1.19.0" if router.flavour == "dispatch" else "3.5.1",
        "mode": "interior",
        "instance": router.instance,
        "links": len(router.links),
        "addresses": len(router.entities),
        **totals,
    }


def of_queues(broker: Broker) -> list[Row]:
    """Raw counters, from 0 since the broker started."""
    return [
        {
            "address": queue.name,
            "queue": queue.name,
            "messages": len(queue.messages) + len(queue.delivering),
            "delivering": len(queue.delivering),
            "scheduled": 0,
            "consumers": len(queue.consumers)
            + (queue.inward is not None and not queue.inward.dead and queue.inward.router.alive),
            "persistent_bytes": 0,
            **{name: queue.counts[name] for name in COUNTERS},
        }
        for queue in broker.queues.values()
        if queue.name not in broker.absent
    ]


def of_broker_addresses(broker: Broker) -> list[Row]:
    return [
        {
            "address": address,
            "paging": False,
            "pages": 0,
            "bytes": 0,
            "limit_ratio": 1.0 if address in broker.full else 0.0,
            "unrouted": count,
        }
        for address, count in broker.unrouted.items()
    ]
