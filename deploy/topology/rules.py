"""Mistakes that only the whole of a topology shows: names that nothing has, and what cannot work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from collectors.config.mistakes import Mistake, unknown_name
from collectors.router.topology import EXPECT_SEPARATOR, pair
from deploy.topology import graph
from deploy.topology.form import Topology
from deploy.topology.plan import CLIENTS, Plan, database_name, given_ports, port_number
from deploy.topology.programs import PROGRAMS

_BETWEEN_ROUTERS = ("inter-router", "edge")


def references(topology: Topology) -> Iterator[Mistake]:
    """Yields names that nothing has; a plan can be made only where there are none."""
    for name in topology.routers.keys() & topology.brokers.keys():
        yield ("brokers", name), "a router has this name, too"
    for name, broker in topology.brokers.items():
        if broker.database is not None and database_name(name) in {*topology.routers, *topology.brokers}:
            yield ("brokers", name, "database"), f"is called {database_name(name)}, as another part is"
    for kind, parts in (("routers", topology.routers), ("brokers", topology.brokers)):
        for name, part in parts.items():
            yield from _profiles(topology, (kind, name), part.tls, part.sasl)
            if (
                topology.hosts
                and part.host not in {None, *topology.hosts}
                and not _is_address(str(part.host))
            ):
                yield (kind, name, "host"), unknown_name("host", str(part.host), topology.hosts)
    yield from _link_ends(topology)
    yield from _path_ends(topology)


def _is_address(host: str) -> bool:
    """Tells an address from the name of a host that `hosts` or the inventory should have."""
    return "." in host or ":" in host or host == "localhost"


def _link_ends(topology: Topology) -> Iterator[Mistake]:
    nodes = {**topology.routers, **topology.brokers}
    for number, link in enumerate(topology.links):
        place = ("links", number)
        for key, name in (("from", link.source), ("to", link.to)):
            if name not in nodes:
                yield (*place, key), unknown_name("router or broker", name, nodes)
        if link.source == link.to:
            yield place, "leads from a node to itself"
        yield from _profiles(topology, place, link.tls, link.sasl)


def _path_ends(topology: Topology) -> Iterator[Mistake]:
    nodes = {**topology.routers, **topology.brokers}
    for name, path in topology.paths.items():
        for key, ends in (("from", (path.source,)), ("to", path.to)):
            for end in ends:
                if end not in nodes:
                    yield ("paths", name, key), unknown_name("router or broker", end, nodes)
        if path.via is not None and path.via not in topology.brokers:
            yield ("paths", name, "via"), unknown_name("broker", path.via, topology.brokers)


def _profiles(
    topology: Topology, place: tuple[str | int, ...], tls: str | None, sasl: str | None
) -> Iterator[Mistake]:
    if tls is not None and tls not in topology.tls:
        yield (*place, "tls"), unknown_name("TLS profile", tls, topology.tls)
    if sasl is not None and sasl not in topology.sasl:
        yield (*place, "sasl"), unknown_name("SASL profile", sasl, topology.sasl)


def unworkable(plan: Plan) -> Iterator[Mistake]:
    """Yields what real routers and brokers would refuse, or wait for in vain."""
    yield from _links(plan.topology)
    yield from _ports(plan)
    yield from _one_listener_for_a_role(plan)
    yield from _unconnected(plan)
    yield from _uplinks(plan)
    yield from _connectors(plan)
    yield from _given_link_routes(plan)
    yield from _addresses(plan.topology)
    yield from _logins(plan)
    yield from _databases(plan)
    yield from _stories(plan)


def _links(topology: Topology) -> Iterator[Mistake]:
    program = PROGRAMS[topology.program]
    seen: dict[frozenset[str], int] = {}
    for number, link in enumerate(topology.links):
        place = ("links", number)
        routers = [name for name in (link.source, link.to) if name in topology.routers]
        pair = frozenset({link.source, link.to})
        if routers and pair in seen:
            first = f"links.{seen[pair]} links the two already"
            yield place, f"{first}; `redundancy: 2` makes two connections"
        seen.setdefault(pair, number)
        allowed = {
            2: ("cost", "redundancy", "tls", "sasl"),
            1: ("queues", "link_routes"),
            0: ("queues", "by"),
        }[len(routers)]
        between = ("two brokers", "a router and a broker", "two routers")[len(routers)]
        for key in link.model_fields_set - {*allowed, "source", "to"}:
            yield (
                (*place, key),
                f"is not for a link between {between}; for that there are: {', '.join(allowed)}",
            )
        if link.link_routes and not program.link_routes:
            yield (*place, "link_routes"), f"{program.name} has no link routes; `queues` makes auto-links"
        if not routers and link.by in {"bridge", "amqp", None} and not link.queues:
            yield (
                (*place, "queues"),
                "is missing: which queues go to the next broker? (`by: mirror` takes all)",
            )


def _ports(plan: Plan) -> Iterator[Mistake]:
    seen: dict[tuple[str, int], str] = {}
    for address, port, place in given_ports(plan.topology):
        here = ".".join(map(str, place))
        if (address, port) in seen:
            yield place, f"port {port} of {address} is taken by {seen[address, port]}"
        seen.setdefault((address, port), here)


def _one_listener_for_a_role(plan: Plan) -> Iterator[Mistake]:
    """Yields links that share a listener, and want other TLS or another login there than the first."""
    numbers = {frozenset({x.source, x.to}): n for n, x in enumerate(plan.topology.links)}
    for router in plan.routers.values():
        for connector in router.connectors:
            if connector.attributes or connector.to not in plan.routers:
                continue
            listener = plan.routers[connector.to].listener(connector.role)
            ours, theirs = (connector.tls, connector.sasl), (listener.tls, listener.sasl)
            if not listener.attributes and ours != theirs:
                place = ("links", numbers[frozenset({router.id, connector.to})])
                yield (
                    place,
                    (
                        "its profiles are not those of the first link to the same"
                        f" {connector.role} listener of {connector.to}"
                    ),
                )


def _unconnected(plan: Plan) -> Iterator[Mistake]:
    first, *others = graph.components(plan.graph())
    for group in others:
        kind = "routers" if group[0] in plan.routers else "brokers"
        rest = f", with {', '.join(group[1:])}," if len(group) > 1 else ""
        yield (kind, group[0]), f"not connected{rest} to {first[0]}: no chain of `links` leads there"


def _uplinks(plan: Plan) -> Iterator[Mistake]:
    for router in plan.routers.values():
        if router.router.mode != "edge":
            continue
        place = ("routers", router.id)
        peers = [*dict.fromkeys(c.to or c.host for c in router.connectors if c.role in _BETWEEN_ROUTERS)]
        peers += [other.id for other in plan.routers.values() for c in other.connectors if c.to == router.id]
        if len(peers) != 1:
            yield (
                place,
                f"an edge router has one uplink, this one has {len(peers)}: {', '.join(peers) or 'none'}",
            )
        for peer in peers:
            if peer in plan.routers and plan.routers[peer].router.mode == "edge":
                yield (
                    place,
                    f"its link to {peer} leads to another edge router; an uplink leads to an interior one",
                )


def _connectors(plan: Plan) -> Iterator[Mistake]:
    """Yields mistakes in connectors and listeners that are given as they are."""
    topology = plan.topology
    known = {*topology.routers, *topology.brokers}
    for name, router in plan.routers.items():
        given = router.router.entities.get("connector", ())
        for number, (attributes, connector) in enumerate(zip(given, router.connectors, strict=False)):
            place = ("routers", name, "entities", "connector", number)
            if port_number(attributes) is None:
                yield place, f"{attributes['port']!r} is not a port"
            elif connector.to is None and connector.host in known:
                yield place, (f"{connector.host} has no {connector.role} listener on port {connector.port}")
            if connector.cost < 1:
                yield place, "the cost of a connector is a whole number from 1"
        for number, attributes in enumerate(router.router.entities.get("listener", ())):
            if not port_number(attributes):
                yield (
                    ("routers", name, "entities", "listener", number),
                    f"{attributes['port']!r} is not a port",
                )


def _given_link_routes(plan: Plan) -> Iterator[Mistake]:
    """Yields prefixes that lead to a broker in one direction: senders or receivers would wait in vain."""
    allowed = PROGRAMS[plan.topology.program].link_routes
    for name, router in plan.routers.items():
        directions: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
        for number, given in enumerate(router.router.entities.get("linkRoute", ())):
            place = ("routers", name, "entities", "linkRoute", number)
            if not allowed:
                yield place, f"{plan.topology.program} has no link routes; a link's `queues` are auto-links"
            what = given.get("prefix") or given.get("pattern")
            direction = str(given.get("direction") or given.get("dir"))
            directions[what, given.get("connection"), given.get("containerId")].setdefault(direction, number)
        for key, found in directions.items():
            if missing := {"in", "out"} - found.keys():
                place = ("routers", name, "entities", "linkRoute", min(found.values()))
                yield place, f"{key[0]} has no link route in the direction {' and '.join(sorted(missing))}"


def _addresses(topology: Topology) -> Iterator[Mistake]:
    seen = set()
    for number, rule in enumerate(topology.addresses):
        if rule.matches in seen:
            yield ("addresses", number), f"{rule.matches[1]} is there twice"
        seen.add(rule.matches)


def _logins(plan: Plan) -> Iterator[Mistake]:
    """Yields logins whose password the program cannot read from a file."""
    program = PROGRAMS[plan.topology.program]
    for name, profile in plan.topology.sasl.items():
        dialled = any(c.sasl == name for router in plan.routers.values() for c in router.connectors)
        if dialled and profile.password_file is not None and not program.login_password_files:
            yield ("sasl", name), f"connectors of qdrouterd {program.versions} read no password from a file"


def _databases(plan: Plan) -> Iterator[Mistake]:
    """Yields a database of two brokers: their tables have the same names."""
    seen: dict[tuple[str, int, str], str] = {}
    for name, broker in plan.brokers.items():
        if (there := broker.database) is not None:
            first = seen.setdefault((there.host, there.port, there.database.name), name)
            if first != name:
                reason = f"is {first}'s, too; give each broker one of its own by `name` or `port`"
                yield ("brokers", name, "database"), reason


def _stories(plan: Plan) -> Iterator[Mistake]:
    """Yields parts and links that stories name and nothing has."""
    parts = [*plan.routers, *plan.brokers]
    databases = [broker.database.name for broker in plan.brokers.values() if broker.database]
    links = sorted({pair(one, other).id for one, other, _ in plan.links()})
    of_clients = {pair(CLIENTS, part).id for part in parts}
    for name, story in plan.topology.stories.items():
        for number, action in enumerate(story):
            place = ("stories", name, number)
            of_link = EXPECT_SEPARATOR in action.what
            # A clock is that of a process of Inflight, which is no part of the network.
            if action.do != "clock" and action.what not in (
                {*links, *of_clients} if of_link else {*parts, *databases}
            ):
                kind, known = ("link", links) if of_link else ("router or broker", [*parts, *databases])
                yield (*place, "what"), unknown_name(kind, action.what, known)
            if action.to is not None and action.to not in parts:
                yield (*place, "to"), unknown_name("router or broker", action.to, parts)
