"""What routers are asked for: the one table of facts about Qpid Dispatch's and Skupper's management."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from collectors.polling.attributes import Attribute, attributes

FlavourName = Literal["dispatch", "skupper"]


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """One kind of thing a router tells of; a reply's rows without their key are left out."""

    name: str
    type: str  # without the flavour's prefix
    key: str
    attributes: tuple[Attribute, ...]
    paged: bool = False
    seldom: bool = False  # it hardly changes, or costs the router much: not asked for at each poll
    ask_all: bool = False  # not by its attributes' names: versions differ in them, or one has no name
    only_without: str = ""  # asked only of routers that did not tell this attribute with who they are

    @property
    def counts(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.type == "count")

    @property
    def gauges(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.type == "number" and a.metric)

    @property
    def states(self) -> tuple[Attribute, ...]:
        """Texts of which one says that all is well."""
        return tuple(a for a in self.attributes if a.good)


@dataclass(frozen=True, slots=True, eq=False)
class Flavour:
    """A kind of router: where its entities are, and which it lacks."""

    name: FlavourName
    prefix: str
    entities: tuple[Entity, ...]


_WHO: Final = attributes(
    """
    id       id       text
    mode     mode     text
    version  version  text
    """
)

_TOTALS: Final = attributes(
    """
    addrCount                        addresses                number  router_objects()
    linkCount                        links                    number  router_objects()
    nodeCount                        nodes                    number  router_objects()
    linkRouteCount                   link_routes              number  router_objects()
    autoLinkCount                    auto_links               number  router_objects()
    connectionCount                  connections              number  router_objects()
    presettledDeliveries             presettled               count   router_outcomes_total()
    droppedPresettledDeliveries      dropped_presettled       count   router_outcomes_total()
    acceptedDeliveries               accepted                 count   router_outcomes_total()
    rejectedDeliveries               rejected                 count   router_outcomes_total()
    releasedDeliveries               released                 count   router_outcomes_total()
    modifiedDeliveries               modified                 count   router_outcomes_total()
    deliveriesDelayed1Sec            delayed_1s               count   router_delayed_deliveries_total(1s)
    deliveriesDelayed10Sec           delayed_10s              count   router_delayed_deliveries_total(10s)
    deliveriesStuck                  stuck                    number  router_stuck_deliveries
    linksBlocked                     blocked_links            number  router_blocked_links
    deliveriesIngress                ingress                  count   router_deliveries_total()
    deliveriesEgress                 egress                   count   router_deliveries_total()
    deliveriesTransit                transit                  count   router_deliveries_total()
    deliveriesIngressRouteContainer  ingress_route_container  count   router_deliveries_total()
    deliveriesEgressRouteContainer   egress_route_container   count   router_deliveries_total()
    deliveriesRedirectedToFallback   fallback                 count   router_deliveries_total()
    uptimeSeconds                    uptime_seconds           number
    memoryUsage                      virtual                  number  router_memory_bytes()
    residentMemoryUsage              resident                 number  router_memory_bytes()
    """
)

ROUTER: Final = Entity("router", "router", "id", (*_WHO, *_TOTALS), ask_all=True)
# Skupper 3 keeps the counters apart; from 3.5 on its version stands under an empty name, `version` itself is
# null. Skupper 2 has them where Dispatch has them, and does not know this type.
METRICS: Final = Entity(
    "metrics",
    "routerMetrics",
    "id",
    (
        *attributes(
            """
        id       id               text
        version  version          text
        ""       unnamed_version  text
        """
        ),
        *_TOTALS,
    ),
    ask_all=True,
    only_without="accepted",
)
LINK: Final = Entity(
    "link",
    "router.link",
    "identity",
    attributes(
        """
        identity                identity             text
        linkName                name                 text
        linkType                type                 text
        linkDir                 direction            text
        owningAddr              address              text
        connectionId            connection           text
        operStatus              status               text
        capacity                capacity             number  router_link_capacity
        creditAvailable         credit               number  router_link_credit
        zeroCreditSeconds       zero_credit_seconds  number  router_link_zero_credit_seconds  max
        undeliveredCount        undelivered          number  router_link_undelivered_messages
        unsettledCount          unsettled            number  router_link_unsettled_messages
        deliveriesStuck         stuck                number  router_link_stuck_deliveries
        deliveryCount           deliveries           count   router_link_deliveries_total
        presettledCount         presettled           count   router_link_outcomes_total()
        droppedPresettledCount  dropped_presettled   count   router_link_outcomes_total()
        acceptedCount           accepted             count   router_link_outcomes_total()
        rejectedCount           rejected             count   router_link_outcomes_total()
        releasedCount           released             count   router_link_outcomes_total()
        modifiedCount           modified             count   router_link_outcomes_total()
        deliveriesDelayed1Sec   delayed_1s           count   router_link_delayed_deliveries_total(1s)
        deliveriesDelayed10Sec  delayed_10s          count   router_link_delayed_deliveries_total(10s)
        ingressHistogram        ingress_histogram    counts
        """
    ),
    paged=True,
)
ADDRESS: Final = Entity(
    "address",
    "router.address",
    "key",
    attributes(
        """
        key                              key                      text
        distribution                     distribution             text
        inProcess                        in_process               number
        subscriberCount                  local                    number  router_address_subscribers()
        remoteCount                      remote                   number  router_address_subscribers()
        remoteHostRouters                hosts                    texts
        containerCount                   containers               number
        deliveriesIngress                ingress                  count   router_address_deliveries_total()
        deliveriesEgress                 egress                   count   router_address_deliveries_total()
        deliveriesTransit                transit                  count   router_address_deliveries_total()
        deliveriesToContainer            to_container             count   router_address_deliveries_total()
        deliveriesFromContainer          from_container           count   router_address_deliveries_total()
        deliveriesIngressRouteContainer  ingress_route_container  count   router_address_deliveries_total()
        deliveriesEgressRouteContainer   egress_route_container   count   router_address_deliveries_total()
        deliveriesRedirectedToFallback   fallback                 count   router_address_deliveries_total()
        """
    ),
    paged=True,
)
# The routers' own address that is the same at all of them.
EVERYWHERE: Final = "L$management"
NODE: Final = Entity(
    "node",
    "router.node",
    "id",
    attributes(
        """
        id              id                    text
        instance        instance              number
        linkState       neighbours            texts
        nextHop         next_hop              text
        routerLink      router_link           number
        cost            cost                  number
        lastTopoChange  last_topology_change  number
        index           index                 number
        """
    ),
)
CONNECTION: Final = Entity(
    "connection",
    "connection",
    "identity",
    attributes(
        """
        identity         identity               text
        host             host                   text
        role             role                   text
        dir              direction              text
        container        container              text
        user             user                   text
        sasl             sasl                   text
        isAuthenticated  authenticated          flag
        isEncrypted      encrypted              flag
        sslProto         tls                    text
        opened           opened                 flag
        operStatus       status                 text
        uptimeSeconds    uptime_seconds         number
        lastDlvSeconds   last_delivery_seconds  number
        """
    ),
)
ALLOCATOR: Final = Entity(
    "allocator",
    "allocator",
    "type",
    attributes(
        """
        typeName                    type            text
        typeSize                    size_bytes      number  router_allocator_object_bytes
        transferBatchSize           batch           number  router_allocator_batch_objects
        localFreeListMax            thread_max      number  router_allocator_thread_max_objects
        globalFreeListMax           global_max      number  router_allocator_global_max_objects
        totalAllocFromHeap          heap_allocated  count   router_allocator_heap_allocated_objects_total
        totalFreeToHeap             heap_freed      count   router_allocator_heap_freed_objects_total
        heldByThreads               held            number  router_allocator_held_objects
        batchesRebalancedToThreads  to_threads      count   router_allocator_rebalanced_batches_total(threads)
        batchesRebalancedToGlobal   to_global       count   router_allocator_rebalanced_batches_total(global)
        """
    ),
    seldom=True,
)
CONNECTOR: Final = Entity(
    "connector",
    "connector",
    "name",
    attributes(
        """
        name              name     text
        host              host     text
        port              port     text
        role              role     text
        cost              cost     number
        connectionStatus  status   text    router_connector_up=SUCCESS
        connectionMsg     message  text
        """
    ),
)
LISTENER: Final = Entity(
    "listener",
    "listener",
    "name",
    attributes(
        """
        name              name            text
        host              host            text
        port              port            text
        role              role            text
        cost              cost            number
        requireSsl        tls_required    flag
        authenticatePeer  login_required  flag
        """
    ),
    seldom=True,
)
AUTO_LINK: Final = Entity(
    "auto_link",
    "router.config.autoLink",
    "name",
    attributes(
        """
        name             name              text
        address          address           text
        direction        direction         text
        connection       connection        text
        containerId      container         text
        externalAddress  external_address  text
        operStatus       status            text  router_auto_link_up=active
        lastError        last_error        text
        """
    ),
)
LINK_ROUTE: Final = Entity(
    "link_route",
    "router.config.linkRoute",
    "name",
    attributes(
        """
        name         name        text
        prefix       prefix      text
        pattern      pattern     text
        direction    direction   text
        connection   connection  text
        containerId  container   text
        operStatus   status      text  router_link_route_up=active
        """
    ),
)
ADDRESS_CONFIG: Final = Entity(
    "address_config",
    "router.config.address",
    "name",
    attributes(
        """
        name          name           text
        prefix        prefix         text
        pattern       pattern        text
        distribution  distribution   text
        waypoint      waypoint       flag
        ingressPhase  ingress_phase  number
        egressPhase   egress_phase   number
        priority      priority       number
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
LOCAL: Final = "$management"


def interior_address(router: str) -> str:
    """Return where an interior router answers, from anywhere in the mesh."""
    return f"amqp:/_topo/0/{router}/$management"


def edge_address(router: str) -> str:
    """Return where an edge router answers."""
    return f"amqp:/_edge/{router}/$management"


def other(flavour: Flavour) -> Flavour:
    """Return the flavour to try if this one is not understood."""
    return SKUPPER if flavour is DISPATCH else DISPATCH
