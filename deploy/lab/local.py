"""A topology as one machine can run it: what belongs to its own hosts is left out, and told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectors.router.topology import pair
from deploy.embedded.programs.artemis import SMALL
from deploy.topology import plan
from deploy.topology.form import Attributes, Broker, Database, Link, Router, Topology
from deploy.topology.plan import Connector, RouterPlan
from deploy.topology.programs import EntityKind

# Given as they stand, they name ports, hosts and files of the real network. Their links are made anew.
_OF_HOSTS: Final[tuple[EntityKind, ...]] = ("listener", "connector", "sslProfile")
_BETWEEN_PARTS: Final = ("inter-router", "edge", "route-container")
_OPEN: Final = {"tls": None, "sasl": None}


def localized(topology: Topology) -> Topology:
    """Return the network without TLS and logins, all links made by listeners and connectors of our own."""
    as_given = plan.make(topology).routers
    return topology.model_copy(
        update={
            "tls": {},
            "sasl": {},
            "routers": {name: _router(router) for name, router in as_given.items()},
            "brokers": {name: _broker(broker) for name, broker in topology.brokers.items()},
            "links": tuple(_links(topology, as_given)),
        }
    )


def left_out(topology: Topology) -> list[str]:
    """Return what of the network is not run here, for people."""
    parts: list[Router | Broker] = [*topology.routers.values(), *topology.brokers.values()]
    routers = plan.make(topology).routers.values()
    elsewhere = [f"{r.id} to {c.host}:{c.port}" for r in routers for c in r.connectors if c.to is None]
    settings = sorted({key for b in topology.brokers.values() for key in b.settings if _is_of_its_host(key)})
    found = {
        "TLS and logins": topology.tls or topology.sasl,
        "where databases are (each is one of its own here)": any(
            b.database and b.database.model_fields_set - {"kind"} for b in topology.brokers.values()
        ),
        "hosts and their ports": topology.hosts or any(part.host or part.port for part in parts),
        "listeners and connectors as they were given (their links are made anew)": any(
            kind in router.entities for router in topology.routers.values() for kind in _OF_HOSTS
        ),
        f"what is dialled outside of the topology: {', '.join(elsewhere)}": elsewhere,
        f"settings of brokers' hosts: {', '.join(settings)}": settings,
    }
    return [text for text, there in found.items() if there]


def _router(as_given: RouterPlan) -> Router:
    to = {connector.name: connector.to for connector in as_given.connectors if connector.attributes}
    entities = {
        kind: tuple(led for entity in several if (led := _led(entity, to)) is not None)
        for kind, several in as_given.router.entities.items()
        if kind not in _OF_HOSTS
    }
    return as_given.router.model_copy(update={**_OPEN, "entities": entities})


def _led(entity: Attributes, to: dict[str, str | None]) -> Attributes | None:
    """Return an auto-link or link route by the connector that is made here; None where it leads outside."""
    connection = str(entity.get("connection"))
    if connection not in to:
        return entity
    return {**entity, "connection": f"to-{to[connection]}"} if to[connection] else None


def _broker(broker: Broker) -> Broker:
    kept = {key: value for key, value in broker.settings.items() if not _is_of_its_host(key)}
    nothing = {**_OPEN, "jolokia": None, "origin": None, "auth": None}
    database = Database(kind=broker.database.kind) if broker.database else None
    return broker.model_copy(update={**nothing, "settings": {**SMALL, **kept}, "database": database})


def _is_of_its_host(setting: str) -> bool:
    return setting.endswith("-directory") or setting in {"journal-type", "security-enabled"}


def _links(topology: Topology, as_given: dict[str, RouterPlan]) -> Iterator[Link]:
    """Yield the links, and those that only given connectors make."""
    made: dict[tuple[str, str], list[Connector]] = {}
    for router in as_given.values():
        for connector in router.connectors:
            if connector.attributes and connector.to and connector.role in _BETWEEN_PARTS:
                made.setdefault(pair(router.id, connector.to), []).append(connector)
    for link in topology.links:
        connectors = made.pop(pair(link.source, link.to), [])
        cost = {"cost": connectors[0].cost} if connectors else {}
        yield link.model_copy(update={**_OPEN, **cost})
    for ends, connectors in made.items():
        to = connectors[0].to
        source = next(end for end in ends if end != to)
        between_routers = to in topology.routers
        cost = {"cost": connectors[0].cost, "redundancy": len(connectors)} if between_routers else {}
        yield Link.model_validate({"from": source, "to": to, **cost})
