"""What one router has told, and what it says of ways, links and receivers. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from collectors.router import address_names, schema
from collectors.router.replies import Row
from collectors.router.schema import Flavour
from deploy.trace.route import Told, Way

ROUTER_ROLES: Final = frozenset({"inter-router", "inter-router-data", "edge", "inter-edge"})
_BROKER: Final = "route-container"
_SELF: Final = "(self)"
_BETWEEN_ROUTERS: Final = "inter-router"
_DOWNLINK: Final = "edge-downlink"
_BETWEEN: Final = frozenset({_BETWEEN_ROUTERS, _DOWNLINK})
_UPLINK: Final = "L_edge"  # owns an edge router's link for all addresses that have none of their own
_MAX_NAMES: Final = 2000  # routers that one router may tell of


@dataclass(frozen=True, slots=True)
class Waiting:
    """Links together: how many, messages that wait for them, and credit left."""

    links: int
    messages: int
    credit: int | None


@dataclass(slots=True)
class Facts:
    """The newest rows of one router; None is what it has not told."""

    address: Row | None = None
    nodes: list[Row] = field(default_factory=list)
    connections: list[Row] = field(default_factory=list)
    links: list[Row] | None = None

    def tell_links(self, rows: Iterable[Row], address: str | None, flavour: Flavour) -> None:
        """Keep those that messages of the address, or of any, leave the router by."""
        owners = {_UPLINK, address_names.key(address, flavour.name) if address is not None else _UPLINK}
        self.links = [
            row
            for row in rows
            if row["direction"] == "out" and (row["type"] in _BETWEEN or row["address"] in owners)
        ]

    def told(self, address: str | None, flavour: Flavour) -> Told:
        """Return its surroundings; `address` None means that all routers are looked for."""
        row = self.address if address is not None else None
        return Told(
            ways={
                node["id"]: Way(node["next_hop"], node["cost"])
                for node in self.nodes[:_MAX_NAMES]
                if is_router(node["id"]) and node["next_hop"] != _SELF and _is_next(node["next_hop"])
            },
            up=_names(self._up()),
            edges=_names(edge for edge in self._edges() if self._is_wanted(edge, address, flavour)),
            hosts=_names((row["hosts"] or ()) if row else ()),
            receivers=row is not None and self._has_receivers(row, address, flavour),
        )

    def _has_receivers(self, row: Row, address: str | None, flavour: Flavour) -> bool:
        """Whether there are others than routers: its count of receivers has links to edges, and from one."""
        found = self.receivers(address, flavour)
        between = self._owned(address, flavour, to_routers=True)
        return bool((found and found.links) or row["in_process"] or (row["local"] or 0) > len(between))

    def receivers(self, address: str | None, flavour: Flavour) -> Waiting | None:
        """Return the address's links out to applications and brokers; None while links are not told."""
        if self.links is None or address is None:
            return None
        return _sum(self._owned(address, flavour, to_routers=False), together=True)

    def only_brokers(self, address: str | None, flavour: Flavour) -> bool:
        """Whether all receivers are links that the router has to brokers."""
        brokers = {row["identity"] for row in self.connections if row["role"] == _BROKER}
        used = {row["connection"] for row in self._owned(address, flavour, to_routers=False)}
        return bool(used) and used <= brokers

    def _owned(self, address: str | None, flavour: Flavour, *, to_routers: bool) -> list[Row]:
        """Return the address's links out: those to other routers, or all others."""
        if address is None:
            return []
        owner = address_names.key(address, flavour.name)
        routers = {row["identity"] for row in self.connections if row["role"] in ROUTER_ROLES}
        return [
            row
            for row in self.links or ()
            if row["address"] == owner and (row["connection"] in routers) == to_routers
        ]

    def towards(self, router: str, address: str | None, flavour: Flavour) -> Waiting | None:
        """Return the links out to another router: those between routers, or the address's to an edge."""
        if self.links is None:
            return None
        there = {
            row["identity"]
            for row in self.connections
            if row["role"] in ROUTER_ROLES and row["container"] == router
        }
        out = [row for row in self.links or () if row["connection"] in there]
        owner = address_names.key(address, flavour.name) if address is not None else None
        # An edge router has a link of its own for an address that it sends to, and one for all others.
        choices = (
            [row for row in out if row["type"] == _BETWEEN_ROUTERS],
            [row for row in out if owner is not None and row["address"] == owner],
            [row for row in out if row["type"] == _DOWNLINK or row["address"] == _UPLINK],
        )
        return next((_sum(found, together=False) for found in choices if found), None)

    def _is_wanted(self, edge: str, address: str | None, flavour: Flavour) -> bool:
        if address is None:
            return True
        owner = address_names.key(address, flavour.name)
        there = {row["identity"] for row in self.connections if row["container"] == edge}
        return any(row["address"] == owner and row["connection"] in there for row in self.links or ())

    def _edges(self) -> Iterable[str]:
        return (row["container"] for row in self._to_edges("in"))

    def _up(self) -> Iterable[str]:
        """Of several connections of an edge router one is in use: the one with the link for all addresses."""
        used = {row["connection"] for row in self.links or () if row["address"] == _UPLINK}
        found = self._to_edges("out")
        return (row["container"] for row in found if row["identity"] in used or not used)

    def _to_edges(self, direction: str) -> list[Row]:
        return [row for row in self.connections if row["role"] == "edge" and row["direction"] == direction]


def is_router(name: str | None) -> bool:
    """Whether it can be part of a router's address."""
    return bool(name) and name is not None and "/" not in name and not name.isspace()


def _is_next(name: str | None) -> bool:
    return name is None or is_router(name)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    found = dict.fromkeys(name for name in names if is_router(name))
    return tuple(sorted(found)[:_MAX_NAMES])


def _sum(rows: list[Row], *, together: bool) -> Waiting:
    """Credit of receivers adds up; of links between routers the scarcest is told."""
    told = [row["credit"] for row in rows if row["credit"] is not None]
    credit = None if not told else sum(told) if together else min(told)
    return Waiting(len(rows), sum(row["undelivered"] or 0 for row in rows), credit)


QUERIES: Final = (schema.NODE, schema.CONNECTION, schema.LINK)
