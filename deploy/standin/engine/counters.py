"""Counters of links, addresses and the router. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class DeliveryCounters:
    presettled: int = 0
    dropped_presettled: int = 0
    accepted: int = 0
    rejected: int = 0
    released: int = 0
    modified: int = 0
    delayed_1_second: int = 0
    delayed_10_seconds: int = 0


@dataclass(slots=True)
class LinkCounters(DeliveryCounters):
    deliveries: int = 0
    settle_rate: int = 0

    def settled(self) -> int:
        return self.presettled + self.accepted + self.rejected + self.released + self.modified


@dataclass(slots=True)
class AddressCounters:
    ingress: int = 0
    egress: int = 0
    transit: int = 0
    to_container: int = 0
    from_container: int = 0
    ingress_route_container: int = 0
    egress_route_container: int = 0


@dataclass(slots=True)
class RouterCounters(DeliveryCounters):
    ingress: int = 0
    egress: int = 0
    transit: int = 0
    ingress_route_container: int = 0
    egress_route_container: int = 0
    arrivals: int = 0  # this and the next two: how many there ever were
    links: int = 0
    connections: int = 0
    addresses: dict[str, AddressCounters] = field(default_factory=dict)

    def address(self, key: str) -> AddressCounters:
        found = self.addresses.get(key)
        if found is None:
            found = self.addresses[key] = AddressCounters()
        return found
