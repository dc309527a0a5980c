"""What one router said in one poll; and which group a link belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from collectors.amqp import containers
from collectors.contract.untrusted_text import matches
from collectors.router import address_names
from collectors.router.asked import Asked, AskedRouter
from collectors.router.replies import Row, Table
from collectors.router.schema import FlavourName

ROUTER_ROLES: Final = frozenset({"inter-router", "inter-router-data", "edge", "inter-edge"})


class LinkGroup(NamedTuple):
    """Links of one group are summed; `peer` is a router, or the name of a broker's connector."""

    peer: str
    address: str
    direction: str
    type: str


@dataclass(slots=True)
class RouterSnapshot:
    """What a router said in one poll, at `steady_ns` of a clock that does not step."""

    router: str
    flavour: FlavourName
    mode: str
    version: str
    at_ns: int
    steady_ns: int
    totals: Row
    tables: dict[str, list[Row]]
    absent: dict[str, frozenset[str]]
    fresh: frozenset[str] = frozenset()  # entities asked for in this very poll
    edge: bool = False
    instance: int | None = None
    times: dict[str, Asked] = field(
        default_factory=dict
    )  # of the wall clock, of those asked for in this poll
    connections: dict[str, Row] = field(default_factory=dict)
    peers: dict[str, str] = field(default_factory=dict)  # connection -> peer
    neighbours: set[str] = field(default_factory=set)  # those of the peers that are routers
    own: int = 0  # messages of ours that may be among those on its links to them

    @property
    def uptime_seconds(self) -> int | None:
        uptime: int | None = self.totals.get("uptime_seconds")
        return uptime

    def rows(self, entity: str) -> list[Row]:
        return self.tables.get(entity, [])


def take_snapshot(
    asked: AskedRouter, at_ns: int, steady_ns: int, before: Mapping[str, Table] | None = None
) -> RouterSnapshot:
    """Make it of a router that has answered; `at_ns` and `steady_ns` are when the poll ended, by two clocks.

    `before` are tables of an earlier poll, for entities that were not asked for in this one.
    """
    tables = {**(before or {}), **asked.tables}
    who = asked.tables["router"].rows[0]
    metrics = asked.tables.get("metrics")
    totals = metrics.rows[0] if metrics and metrics.rows else who
    router = who["id"]
    snapshot = RouterSnapshot(
        router=router,
        flavour=asked.flavour.name,
        mode=who.get("mode") or "unknown",
        version=totals.get("version") or totals.get("unnamed_version") or "unknown",
        at_ns=at_ns,
        steady_ns=asked.told_ns or steady_ns,
        totals=totals,
        tables={name: table.rows for name, table in tables.items()},
        absent={name: table.absent for name, table in tables.items()},
        fresh=frozenset(asked.tables),
        edge=who.get("mode") == "edge",
        own=asked.own,
        times={name: _of_wall(times, at_ns - steady_ns) for name, times in asked.times.items()},
    )
    own = next((row for row in snapshot.rows("node") if row["id"] == router), None)
    snapshot.instance = own["instance"] if own else None
    connectors = {(row["host"], row["port"]): row["name"] for row in snapshot.rows("connector")}
    ours = set()
    for row in snapshot.rows("connection"):
        snapshot.connections[row["identity"]] = row
        peer = snapshot.peers[row["identity"]] = _peer(row, connectors)
        if row["role"] in ROUTER_ROLES:
            snapshot.neighbours.add(peer)
        elif (row["container"] or "").startswith(containers.COLLECTOR):
            ours.add(row["identity"])
    if ours:
        for link in snapshot.rows("link"):
            if link["connection"] in ours:  # what waits there are the answers to this poll
                link["undelivered"] = link["unsettled"] = 0
    return snapshot


def _of_wall(times: Asked, offset_ns: int) -> Asked:
    return Asked(*(max(0, ns + offset_ns) for ns in times))


def _peer(connection: Row, connectors: dict[tuple[str | None, str | None], str]) -> str:
    if connection["role"] in ROUTER_ROLES:
        return connection["container"] or ""
    if connection["role"] == "route-container" and connection["direction"] == "out":
        host, _, port = (connection["host"] or "").rpartition(":")
        return connectors.get((host, port), "")
    return ""


def link_group(snapshot: RouterSnapshot, link: Row, patterns: tuple[str, ...]) -> LinkGroup:
    """Return a link's group; addresses that match no pattern are summed as `_other`."""
    key = link["address"]
    address = address_names.NONE
    if key:
        name = address_names.mobile(key, snapshot.flavour)
        wanted = name is not None and matches(name, patterns)
        address = address_names.INTERNAL if name is None else name if wanted else address_names.OTHER
    return LinkGroup(
        snapshot.peers.get(link["connection"] or "", ""),
        address,
        link["direction"] or "unknown",
        link["type"] or "unknown",
    )
