"""What routers are asked for: the one table of facts about Qpid Dispatch's and Skupper's management."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

FlavourName = Literal["dispatch", "skupper"]
Type = Literal["count", "number", "text", "flag", "texts", "counts"]


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute by its name on the wire, the name it has here, and the type it must have."""

    wire: str
    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """One kind of thing a router tells of; a reply's rows without their key are left out."""

    name: str
    type: str  # without the flavour's prefix
    key: str
    columns: tuple[Column, ...]
    paged: bool = False
    seldom: bool = False  # it hardly changes, or costs the router much: not asked for at each poll
    ask_all: bool = False  # not by its attributes' names: versions differ in them, or one has no name
    only_without: str = ""  # asked only of routers that did not tell this column with who they are


@dataclass(frozen=True, slots=True, eq=False)
class Flavour:
    """A kind of router: where its entities are, and which it lacks."""

    name: FlavourName
    prefix: str
    entities: tuple[Entity, ...]


def _columns(text: str) -> tuple[Column, ...]:
    """`wire:name:type`, separated by white space."""
    found = []
    for item in text.split():
        wire, name, kind = item.split(":")
        found.append(Column(wire, name, kind))  # type: ignore[arg-type]  # checked by the tests of the table
    return tuple(found)


_WHO: Final = _columns("id:id:text mode:mode:text version:version:text")

_TOTALS: Final = _columns(
    """
    addrCount:addresses:number linkCount:links:number nodeCount:nodes:number
    linkRouteCount:link_routes:number autoLinkCount:auto_links:number connectionCount:connections:number
    presettledDeliveries:presettled:count droppedPresettledDeliveries:dropped_presettled:count
    acceptedDeliveries:accepted:count rejectedDeliveries:rejected:count
    releasedDeliveries:released:count modifiedDeliveries:modified:count
    deliveriesDelayed1Sec:delayed_1s:count deliveriesDelayed10Sec:delayed_10s:count
    deliveriesStuck:stuck:number linksBlocked:blocked_links:number
    deliveriesIngress:ingress:count deliveriesEgress:egress:count deliveriesTransit:transit:count
    deliveriesIngressRouteContainer:ingress_route_container:count
    deliveriesEgressRouteContainer:egress_route_container:count
    deliveriesRedirectedToFallback:fallback:count
    uptimeSeconds:uptime_seconds:number memoryUsage:virtual:number residentMemoryUsage:resident:number
    """
)

ROUTER: Final = Entity("router", "router", "id", (*_WHO, *_TOTALS), ask_all=True)
# Skupper 3 keeps the counters apart; from 3.5 on its version stands under an empty name, `version` itself is
# null. Skupper 2 has them where Dispatch has them, and does not know this type.
METRICS: Final = Entity(
    "metrics",
    "routerMetrics",
    "id",
    (*_columns("id:id:text version:version:text :unnamed_version:text"), *_TOTALS),
    ask_all=True,
    only_without="accepted",
)
LINK: Final = Entity(
    "link",
    "router.link",
    "identity",
    _columns(
        """
        identity:identity:text linkName:name:text linkType:type:text linkDir:direction:text
        owningAddr:address:text connectionId:connection:text operStatus:status:text
        capacity:capacity:number creditAvailable:credit:number zeroCreditSeconds:zero_credit_seconds:number
        undeliveredCount:undelivered:number unsettledCount:unsettled:number deliveriesStuck:stuck:number
        deliveryCount:deliveries:count presettledCount:presettled:count
        droppedPresettledCount:dropped_presettled:count acceptedCount:accepted:count
        rejectedCount:rejected:count releasedCount:released:count modifiedCount:modified:count
        deliveriesDelayed1Sec:delayed_1s:count deliveriesDelayed10Sec:delayed_10s:count
        ingressHistogram:ingress_histogram:counts
        """
    ),
    paged=True,
)
ADDRESS: Final = Entity(
    "address",
    "router.address",
    "key",
    _columns(
        """
        key:key:text distribution:distribution:text inProcess:in_process:number
        subscriberCount:subscribers:number remoteCount:remotes:number containerCount:containers:number
        deliveriesIngress:ingress:count deliveriesEgress:egress:count deliveriesTransit:transit:count
        deliveriesToContainer:to_container:count deliveriesFromContainer:from_container:count
        deliveriesIngressRouteContainer:ingress_route_container:count
        deliveriesEgressRouteContainer:egress_route_container:count
        deliveriesRedirectedToFallback:fallback:count
        """
    ),
    paged=True,
)
NODE: Final = Entity(
    "node",
    "router.node",
    "id",
    _columns(
        """
        id:id:text instance:instance:number linkState:neighbours:texts nextHop:next_hop:text
        routerLink:router_link:number cost:cost:number lastTopoChange:last_topology_change:number
        index:index:number
        """
    ),
)
CONNECTION: Final = Entity(
    "connection",
    "connection",
    "identity",
    _columns(
        """
        identity:identity:text host:host:text role:role:text dir:direction:text container:container:text
        user:user:text sasl:sasl:text isAuthenticated:authenticated:flag isEncrypted:encrypted:flag
        sslProto:tls:text opened:opened:flag operStatus:status:text uptimeSeconds:uptime_seconds:number
        lastDlvSeconds:last_delivery_seconds:number
        """
    ),
)
ALLOCATOR: Final = Entity(
    "allocator",
    "allocator",
    "type",
    _columns(
        """
        typeName:type:text typeSize:size_bytes:number transferBatchSize:batch:number
        localFreeListMax:thread_max:number globalFreeListMax:global_max:number
        totalAllocFromHeap:heap_allocated:count totalFreeToHeap:heap_freed:count heldByThreads:held:number
        batchesRebalancedToThreads:to_threads:count batchesRebalancedToGlobal:to_global:count
        """
    ),
    seldom=True,
)
CONNECTOR: Final = Entity(
    "connector",
    "connector",
    "name",
    _columns(
        """
        name:name:text host:host:text port:port:text role:role:text cost:cost:number
        connectionStatus:status:text connectionMsg:message:text
        """
    ),
)
LISTENER: Final = Entity(
    "listener",
    "listener",
    "name",
    _columns(
        """
        name:name:text host:host:text port:port:text role:role:text cost:cost:number
        requireSsl:tls_required:flag authenticatePeer:login_required:flag
        """
    ),
    seldom=True,
)
AUTO_LINK: Final = Entity(
    "auto_link",
    "router.config.autoLink",
    "name",
    _columns(
        """
        name:name:text address:address:text direction:direction:text connection:connection:text
        containerId:container:text externalAddress:external_address:text operStatus:status:text
        lastError:last_error:text
        """
    ),
)
LINK_ROUTE: Final = Entity(
    "link_route",
    "router.config.linkRoute",
    "name",
    _columns(
        """
        name:name:text prefix:prefix:text pattern:pattern:text direction:direction:text
        connection:connection:text containerId:container:text operStatus:status:text
        """
    ),
)
ADDRESS_CONFIG: Final = Entity(
    "address_config",
    "router.config.address",
    "name",
    _columns(
        """
        name:name:text prefix:prefix:text pattern:pattern:text distribution:distribution:text
        waypoint:waypoint:flag ingressPhase:ingress_phase:number egressPhase:egress_phase:number
        priority:priority:number
        """
    ),
    seldom=True,
)

_COMMON: Final = (NODE, CONNECTION, LINK, ADDRESS, ALLOCATOR, CONNECTOR, LISTENER, AUTO_LINK, ADDRESS_CONFIG)

# The first entity says who the router is and is asked for first, alone.
DISPATCH: Final = Flavour("dispatch", "org.apache.qpid.dispatch.", (ROUTER, *_COMMON, LINK_ROUTE))
SKUPPER: Final = Flavour("skupper", "io.skupper.router.", (ROUTER, METRICS, *_COMMON))
FLAVOURS: Final[dict[FlavourName, Flavour]] = {"dispatch": DISPATCH, "skupper": SKUPPER}

PAGE: Final = 500
# May come though not asked for: a router's core tells one of them in the place of a name it does not know.
# (Its Python agent, which answers for nodes, allocator, connectors, listeners and Skupper 3's `router`,
# refuses such a query with 404, and logs an error.)
ALWAYS_TOLD: Final = frozenset({"name", "identity", "type"})

SKUPPER_PRODUCT: Final = "skupper-router"  # as it calls itself when a connection opens
OWN_CONTAINER: Final = "inflight-collect-"  # how containers begin that ask for management
LOCAL: Final = "$management"


def interior_address(router: str) -> str:
    """Where an interior router answers, from anywhere in the mesh."""
    return f"amqp:/_topo/0/{router}/$management"


def edge_address(router: str) -> str:
    """Where an edge router answers."""
    return f"amqp:/_edge/{router}/$management"


def other(flavour: Flavour) -> Flavour:
    """The flavour to try where this one is not understood."""
    return SKUPPER if flavour is DISPATCH else DISPATCH
