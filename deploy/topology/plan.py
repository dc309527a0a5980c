"""From a topology to the listeners and connectors of every router and broker: pure, and always the same.

Listeners are numbered first, all of them, then connectors are pointed at them: both sides agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

from deploy.topology import graph
from deploy.topology.form import Broker, Database, Link, LinkKind, Router, Topology

Role = Literal["normal", "inter-router", "edge", "route-container"]
CLIENTS: Final = "clients"  # as the end of a link of a lab: whoever is no part of it
FIRST_PORTS: Final = {
    "normal": 5672,
    "inter-router": 55672,
    "edge": 45672,
    "broker": 61616,
    "database": 5432,
}
Attributes = dict[str, Any]


@dataclass(frozen=True)
class Listener:
    """`attributes`: of one that was given as it is, and is written as it is.

    Its role is the router's word for who comes there, or `http` where none of the network does.
    """

    name: str
    port: int
    role: str = "normal"
    tls: str | None = None
    sasl: str | None = None
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Connector:
    """`to` is the router or broker it leads to; None where that is no part of the topology."""

    name: str
    to: str | None
    host: str
    port: int
    role: str
    cost: int = 1
    tls: str | None = None
    sasl: str | None = None
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Route:
    """What a router fetches from and brings to a broker: a queue by name, or all below a prefix."""

    address: str
    connection: str  # the connector's name
    broker: str


@dataclass(frozen=True)
class RouterPlan:
    id: str
    address: str  # of its host
    router: Router
    listeners: tuple[Listener, ...]
    connectors: tuple[Connector, ...] = ()
    auto_links: tuple[Route, ...] = ()
    link_routes: tuple[Route, ...] = ()

    def listener(self, role: str) -> Listener:
        """The first of this role. Every router has one for clients."""
        return next(listener for listener in self.listeners if listener.role == role)


@dataclass(frozen=True)
class BrokerLink:
    by: LinkKind
    to: str
    host: str
    port: int
    queues: tuple[str, ...]


@dataclass(frozen=True)
class DatabasePlan:
    """`name` is that of the part which runs it in a lab."""

    name: str
    host: str
    port: int
    database: Database


@dataclass(frozen=True)
class BrokerPlan:
    name: str
    address: str
    port: int
    broker: Broker
    links: tuple[BrokerLink, ...] = ()
    database: DatabasePlan | None = None


@dataclass(frozen=True)
class Plan:
    """All that is written follows from this."""

    topology: Topology
    routers: dict[str, RouterPlan]
    brokers: dict[str, BrokerPlan]

    def links(self) -> Iterator[tuple[str, str, int]]:
        """Each link that a connector makes between two parts of the topology, with its cost."""
        for router in self.routers.values():
            for connector in router.connectors:
                if connector.to is not None:
                    yield router.id, connector.to, connector.cost
        for broker in self.brokers.values():
            for link in broker.links:
                yield broker.name, link.to, 1

    def graph(self) -> dict[str, dict[str, int]]:
        return graph.graph([*self.routers, *self.brokers], self.links())

    def mesh_graph(self) -> dict[str, dict[str, int]]:
        """The routers alone."""
        between = (link for link in self.links() if link[0] in self.routers and link[1] in self.routers)
        return graph.graph(self.routers, between)

    @cached_property
    def meshes(self) -> list[list[str]]:
        """Routers that are linked without a broker between them."""
        return graph.components(self.mesh_graph())


PickPort = Callable[[str, str], int]


def make(topology: Topology, pick: PickPort | None = None) -> Plan:
    """The plan of a topology whose references are right; `pick` gives a port for a host and a role."""
    pick = pick or _Ports(topology).next
    dials = [_dial(topology, link) for link in topology.links]
    listeners = {
        name: tuple(_listeners(topology, name, _of(dials, to=name), pick)) for name in topology.routers
    }
    brokers = {name: _broker(topology, name, pick) for name in topology.brokers}
    routers = {
        name: RouterPlan(name, topology.address(name), router, listeners[name])
        for name, router in topology.routers.items()
    }
    plan = Plan(topology, routers, brokers)
    # Connectors are pointed at listeners, which by now all have their numbers.
    return replace(
        plan,
        routers={name: _connected(plan, name, _of(dials, by=name)) for name in routers},
        brokers={name: replace(b, links=tuple(_broker_links(plan, name))) for name, b in brokers.items()},
    )


def _broker(topology: Topology, name: str, pick: PickPort) -> BrokerPlan:
    broker, address = topology.brokers[name], topology.address(name)
    port, database = broker.port or pick(address, "broker"), None
    if (given := broker.database) is not None:
        host = topology.address(given.host) if given.host else address
        database = DatabasePlan(database_name(name), host, given.port or pick(host, "database"), given)
    return BrokerPlan(name, address, port, broker, database=database)


def database_name(broker: str) -> str:
    """Return what a broker's database is called."""
    return f"{broker}.database"


@dataclass(frozen=True)
class _Dial:
    """A link, and who dials whom: an edge router its uplink, a router a broker, and otherwise `from`."""

    link: Link
    by: str
    to: str
    role: Role | None  # None between brokers


def _dial(topology: Topology, link: Link) -> _Dial:
    routers = topology.routers
    turned = link.to in routers and (
        link.source not in routers
        or (routers[link.to].mode == "edge" and routers[link.source].mode == "interior")
    )
    by, to = (link.to, link.source) if turned else (link.source, link.to)
    if by not in routers:
        return _Dial(link, by, to, None)
    if to not in routers:
        return _Dial(link, by, to, "route-container")
    return _Dial(link, by, to, "edge" if routers[by].mode == "edge" else "inter-router")


def _of(dials: list[_Dial], *, by: str | None = None, to: str | None = None) -> list[_Dial]:
    return [dial for dial in dials if by in {None, dial.by} and to in {None, dial.to}]


class _Ports:
    """Counts upwards on each host, passing over what the file names."""

    def __init__(self, topology: Topology) -> None:
        self._taken: dict[str, set[int]] = defaultdict(set)
        for address, port, _ in given_ports(topology):
            self._taken[address].add(port)

    def next(self, address: str, role: str) -> int:
        port = FIRST_PORTS[role]
        while port in self._taken[address]:
            port += 1
        self._taken[address].add(port)
        return port


def given_ports(topology: Topology) -> Iterator[tuple[str, int, tuple[str | int, ...]]]:
    """Every port that the file names: the host's address, the port, and where it stands."""
    for name, router in topology.routers.items():
        address = topology.address(name)
        for key in ("port", "mesh_port", "edge_port"):
            if (port := getattr(router, key)) is not None:
                yield address, port, ("routers", name, key)
        for number, listener in enumerate(router.entities.get("listener", ())):
            if (port := port_number(listener)) is not None:
                yield address, port, ("routers", name, "entities", "listener", number)
    for name, broker in topology.brokers.items():
        if broker.port is not None:
            yield topology.address(name), broker.port, ("brokers", name, "port")
        if broker.database is not None and broker.database.port is not None and broker.database.host is None:
            yield topology.address(name), broker.database.port, ("brokers", name, "database", "port")


def port_number(attributes: Attributes) -> int | None:
    """Of a listener or connector that is written as it is; routers know `amqp` and `amqps`, too."""
    text = str(attributes.get("port", "amqp"))
    return {"amqp": 5672, "amqps": 5671}.get(text) or (int(text) if text.isdecimal() else None)


def _listeners(topology: Topology, name: str, dials: list[_Dial], pick: PickPort) -> Iterator[Listener]:
    """Those that are given as they are, and one for each role that is still missing."""
    router = topology.routers[name]
    roles = set()
    for number, given in enumerate(router.entities.get("listener", ()), 1):
        role = "http" if given.get("http") in {True, "yes", "true"} else str(given.get("role", "normal"))
        roles.add(role)
        yield Listener(
            str(given.get("name", f"given-{number}")), port_number(given) or 0, role, attributes=given
        )
    wanted: list[tuple[Role, str, int | None]] = [
        ("normal", "clients", router.port),
        ("inter-router", "routers", router.mesh_port),
        ("edge", "edges", router.edge_port),
    ]
    for role, purpose, port in wanted:
        first = next((dial.link for dial in dials if dial.role == role), None)
        needed = role == "normal" or first is not None
        if port is None and (role in roles or not needed):
            continue
        tls, sasl = (router.tls, router.sasl) if first is None else (first.tls, first.sasl)
        yield Listener(purpose, port or pick(topology.address(name), role), role, tls, sasl)


def _connected(plan: Plan, name: str, dials: list[_Dial]) -> RouterPlan:
    """The router with its connectors: those given as they are, then one or more for each link."""
    router = plan.routers[name]
    connectors = [
        _given_connector(plan, given, number)
        for number, given in enumerate(router.router.entities.get("connector", ()), 1)
    ]
    auto_links: list[Route] = []
    link_routes: list[Route] = []
    for dial in dials:
        given = (c for c in connectors if c.attributes and (c.to, c.role) == (dial.to, dial.role))
        made = next(given, None)
        if made is None:
            several = [_connector(plan, dial, number) for number in range(1, dial.link.redundancy + 1)]
            connectors += several
            made = several[0]
        auto_links += [Route(queue, made.name, dial.to) for queue in dial.link.queues]
        link_routes += [Route(prefix, made.name, dial.to) for prefix in dial.link.link_routes]
    return replace(
        router,
        connectors=tuple(connectors),
        auto_links=tuple(auto_links),
        link_routes=tuple(link_routes),
    )


def _connector(plan: Plan, dial: _Dial, number: int) -> Connector:
    name = f"to-{dial.to}" if number == 1 else f"to-{dial.to}-{number}"
    if dial.to in plan.brokers:
        broker = plan.brokers[dial.to]
        tls, sasl = broker.broker.tls, broker.broker.sasl
        return Connector(name, dial.to, broker.address, broker.port, "route-container", tls=tls, sasl=sasl)
    role, link = str(dial.role), dial.link
    to = plan.routers[dial.to]
    return Connector(name, to.id, to.address, to.listener(role).port, role, link.cost, link.tls, link.sasl)


def _given_connector(plan: Plan, given: Attributes, number: int) -> Connector:
    host, port = str(given.get("host", "127.0.0.1")), port_number(given) or 0
    role = str(given.get("role", "normal"))
    return Connector(
        str(given.get("name", f"given-{number}")),
        _found_at(plan, plan.topology.address(host), port, role),
        host,
        port,
        role,
        int(given.get("cost", 1)) if str(given.get("cost", 1)).isdecimal() else 0,
        attributes=given,
    )


def _found_at(plan: Plan, address: str, port: int, role: str) -> str | None:
    for router in plan.routers.values():
        if router.address == address and any((x.port, x.role) == (port, role) for x in router.listeners):
            return router.id
    at = (b.name for b in plan.brokers.values() if (b.address, b.port) == (address, port))
    return next(at, None) if role == "route-container" else None


def _broker_links(plan: Plan, name: str) -> Iterator[BrokerLink]:
    for link in plan.topology.links:
        if link.source == name and link.to in plan.brokers:
            to = plan.brokers[link.to]
            yield BrokerLink(link.by or "amqp", link.to, to.address, to.port, link.queues)
