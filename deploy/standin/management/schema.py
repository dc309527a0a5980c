"""The management schemas of both flavours: entity types and their attributes, in the routers' order. Pure.

Taken from real replies; tests compare them attribute by attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.standin.flavours import FLAVOURS


@dataclass(frozen=True)
class Entity:
    dispatch: tuple[str, ...] = ()
    skupper: tuple[str, ...] = ()
    # The flavours whose Python agent answers this type. It ignores offset and count, and refuses a query that
    # names an unknown attribute. A router's core gives pages, and puts its first attribute in place of that.
    agent: tuple[str, ...] = ()

    def attributes(self, flavour: str) -> tuple[str, ...]:
        return self.dispatch if flavour == "dispatch" else self.skupper


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_BOTH = ("dispatch", "skupper")
_ALLOCATOR = _names(
    "typeName typeSize transferBatchSize localFreeListMax globalFreeListMax totalAllocFromHeap"
    " totalFreeToHeap heldByThreads batchesRebalancedToThreads batchesRebalancedToGlobal name identity type"
)
_NODE = _names(
    "id protocolVersion instance linkState nextHop validOrigins address routerLink cost lastTopoChange"
    " index name identity type"
)
_DELIVERIES = (
    "presettledDeliveries droppedPresettledDeliveries acceptedDeliveries rejectedDeliveries"
    " releasedDeliveries modifiedDeliveries deliveriesDelayed1Sec deliveriesDelayed10Sec deliveriesStuck"
    " deliveriesIngress deliveriesEgress deliveriesTransit deliveriesIngressRouteContainer"
    " deliveriesEgressRouteContainer"
)
_OUTCOMES = (
    "presettledCount droppedPresettledCount acceptedCount rejectedCount releasedCount modifiedCount"
    " deliveriesDelayed1Sec deliveriesDelayed10Sec deliveriesStuck"
)

ENTITIES: dict[str, Entity] = {
    "router": Entity(
        _names(
            "name identity id type mode area version metadata addrCount linkCount nodeCount linkRouteCount"
            f" autoLinkCount connectionCount {_DELIVERIES} deliveriesRedirectedToFallback linksBlocked"
            " uptimeSeconds memoryUsage workerThreads"
        ),
        _names(
            "id vanId mode area version hostName helloIntervalSeconds helloMaxAgeSeconds raIntervalSeconds"
            " raIntervalFluxSeconds remoteLsMaxAgeSeconds unreachableHoldoffSeconds workerThreads"
            " debugDumpFile saslConfigDir saslConfigName timestampsInUTC timestampFormat"
            " defaultDistribution metadata dataConnectionCount dropTcpConnections name identity type"
        ),
        agent=("skupper",),
    ),
    "routerMetrics": Entity(
        (),
        # In the real reply, too, the last name is empty.
        (
            *_names(
                "identity type id addrCount linkCount nodeCount autoLinkCount connectionCount"
                f" {_DELIVERIES} deliveriesIngressInterNetwork deliveriesEgressInterNetwork"
                " deliveriesRedirectedToFallback linksBlocked uptimeSeconds memoryUsage"
                " residentMemoryUsage connectionCounters version"
            ),
            "",
        ),
    ),
    "router.link": Entity(
        _names(
            "name identity type linkName linkType linkDir owningAddr capacity peer undeliveredCount"
            f" unsettledCount deliveryCount connectionId adminStatus operStatus {_OUTCOMES}"
            " ingressHistogram priority settleRate creditAvailable zeroCreditSeconds"
        ),
        (
            *_names(
                "name identity type linkName linkType linkDir owningAddr capacity undeliveredCount"
                f" unsettledCount deliveryCount connectionId operStatus {_OUTCOMES} openMovedStreams"
                " ingressHistogram priority settleRate creditAvailable zeroCreditSeconds"
            ),
            "",
        ),
    ),
    "router.address": Entity(
        _names(
            "name identity type key distribution inProcess subscriberCount remoteCount containerCount"
            " remoteHostRouters deliveriesIngress deliveriesEgress deliveriesTransit deliveriesToContainer"
            " deliveriesFromContainer deliveriesEgressRouteContainer deliveriesIngressRouteContainer"
            " transitOutstanding trackedDeliveries priority deliveriesRedirectedToFallback"
        ),
        _names(
            "name identity type key distribution inProcess subscriberCount remoteCount remoteHostRouters"
            " deliveriesIngress deliveriesEgress deliveriesTransit deliveriesToContainer"
            " deliveriesFromContainer deliveriesEgressRouteContainer deliveriesIngressRouteContainer"
            " deliveriesEgressInterNetwork deliveriesIngressInterNetwork transitOutstanding"
            " trackedDeliveries priority deliveriesRedirectedToFallback watch"
        ),
    ),
    "router.node": Entity(_NODE, _NODE, agent=_BOTH),
    "connection": Entity(
        _names(
            "name identity host role protocol dir container sasl isAuthenticated user isEncrypted sslProto"
            " sslCipher properties sslSsf tenant type ssl opened active adminStatus operStatus uptimeSeconds"
            " lastDlvSeconds enableProtocolTrace"
        ),
        _names(
            "name identity host localSocket role protocol dir container sasl isAuthenticated user isEncrypted"
            " sslProto sslCipher properties sslSsf type ssl opened active adminStatus operStatus"
            " uptimeSeconds lastDlvSeconds enableProtocolTrace meshId tlsOrdinal groupCorrelationId"
            " groupOrdinal"
        ),
    ),
    "allocator": Entity(_ALLOCATOR, _ALLOCATOR, agent=_BOTH),
    "connector": Entity(
        _names(
            "host port protocolFamily role cost sslProfile saslMechanisms allowRedirect maxFrameSize"
            " maxSessions maxSessionFrames idleTimeoutSeconds stripAnnotations linkCapacity verifyHostname"
            " saslUsername saslPassword messageLoggingComponents failoverUrls connectionStatus connectionMsg"
            " policyVhost openProperties name identity type"
        ),
        _names(
            "host port socketAddressFamily role cost sslProfile proxyProfile saslMechanisms allowRedirect"
            " maxFrameSize maxSessions maxSessionFrames idleTimeoutSeconds stripAnnotations linkCapacity"
            " verifyHostname saslUsername saslPassword messageLoggingComponents failoverUrls"
            " connectionStatus connectionMsg policyVhost openProperties name identity type"
        ),
        agent=_BOTH,
    ),
    "listener": Entity(
        _names(
            "host port socketAddressFamily role cost sslProfile saslMechanisms authenticatePeer saslPlugin"
            " requireEncryption requireSsl trustedCertsFile maxFrameSize maxSessions maxSessionFrames"
            " idleTimeoutSeconds initialHandshakeTimeoutSeconds stripAnnotations linkCapacity multiTenant"
            " failoverUrls healthz metrics websockets http httpRootDir messageLoggingComponents policyVhost"
            " openProperties name identity type"
        ),
        _names(
            "host port socketAddressFamily role cost sslProfile saslMechanisms authenticatePeer"
            " requireEncryption requireSsl maxFrameSize maxSessions maxSessionFrames idleTimeoutSeconds"
            " initialHandshakeTimeoutSeconds stripAnnotations linkCapacity failoverUrls healthz metrics"
            " websockets http httpRootDir messageLoggingComponents policyVhost openProperties name identity"
            " type"
        ),
        agent=_BOTH,
    ),
    "router.config.address": Entity(
        _names(
            "name identity type prefix distribution waypoint ingressPhase egressPhase pattern priority"
            " fallback"
        ),
        _names("name identity type prefix distribution pattern priority"),
    ),
    "router.config.autoLink": Entity(
        _names(
            "name identity type address addr direction dir phase connection containerId externalAddress"
            " externalAddr linkRef operStatus lastError fallback"
        ),
        _names(
            "name identity type address direction connection containerId externalAddress linkRef operStatus"
            " lastError"
        ),
    ),
    "router.config.linkRoute": Entity(
        _names(
            "name identity type prefix distribution connection containerId direction dir operStatus pattern"
            " addExternalPrefix delExternalPrefix"
        ),
    ),
}


def entity_types(flavour: str) -> dict[str, str]:
    """Return the short name of each entity type of a flavour, by its full name."""
    prefix = FLAVOURS[flavour].entity_prefix
    return {prefix + name: name for name, entity in ENTITIES.items() if entity.attributes(flavour)}
