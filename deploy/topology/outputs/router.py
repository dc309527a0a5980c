"""The configuration file of qdrouterd and of skrouterd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from collectors.config.model import Sasl
from deploy.topology.form import AddressRule, Topology, is_loopback
from deploy.topology.plan import Connector, Listener, Plan, Route, RouterPlan
from deploy.topology.programs import PROGRAMS, Program

Attributes = dict[str, Any]
Entity = tuple[str, Attributes]
_ANYWHERE = "0.0.0.0"


def file_name(plan: Plan) -> str:
    return f"{PROGRAMS[plan.topology.program].command}.conf"


def configuration(plan: Plan, name: str) -> str:
    """Returns the whole file. No password is in it: the router reads them from files of its host."""
    return "\n".join(_text(kind, attributes) for kind, attributes in entities(plan, name))


def entities(plan: Plan, name: str) -> list[Entity]:
    """Returns the entities of the file, in its order; attributes are named as in the program's version."""
    topology = plan.topology
    router = plan.routers[name]
    about: Attributes = {"mode": router.router.mode, "id": name}
    if router.router.workers:
        about["workerThreads"] = router.router.workers
    program = PROGRAMS[topology.program]
    made: list[Entity] = [
        ("router", about),
        *(("sslProfile", _tls(topology, profile)) for profile in _profiles(topology, router)),
        *(("listener", _listener(topology, router, x)) for x in router.listeners if not x.attributes),
        *(("address", attributes) for attributes in _addresses(plan, router)),
        ("log", {"module": "DEFAULT", "enable": "warning+"}),
        *(("connector", _connector(topology, x)) for x in router.connectors if not x.attributes),
        *_routes(router, program),
    ]
    given = [(kind, x) for kind, several in router.router.entities.items() for x in several]
    return [
        *((kind, _renamed(attributes, program.renamed.get(kind, {}))) for kind, attributes in made),
        *((kind, attributes) for kind, attributes in given),
    ]


def _renamed(attributes: Attributes, names: Mapping[str, str]) -> Attributes:
    return {names.get(key, key): value for key, value in attributes.items()}


def _profiles(topology: Topology, router: RouterPlan) -> list[str]:
    used = {listener.tls for listener in router.listeners} | {c.tls for c in router.connectors}
    return [profile for profile in topology.tls if profile in used]


def _tls(topology: Topology, name: str) -> Attributes:
    profile = topology.tls[name]
    files: Attributes = {"name": name, "caCertFile": profile.ca}
    if profile.cert is not None:
        files |= {"certFile": profile.cert, "privateKeyFile": profile.key}
    if profile.password_file is not None:
        attribute, prefix = PROGRAMS[topology.program].key_password
        files[attribute] = f"{prefix}{profile.password_file}"
    return files


def _listener(topology: Topology, router: RouterPlan, listener: Listener) -> Attributes:
    host = router.address if is_loopback(router.address) else _ANYWHERE
    made: Attributes = {"name": listener.name, "host": host, "port": listener.port, "role": listener.role}
    if listener.role == "normal":
        made["stripAnnotations"] = "no"  # the route that a message took stays on it for the probes to see
    if listener.tls is not None:
        made |= {"sslProfile": listener.tls, "requireSsl": "yes"}
    sasl = _sasl(topology, listener.sasl)
    anonymous = sasl is None or sasl.mechanism == "ANONYMOUS"
    return made | {
        "authenticatePeer": "no" if anonymous else "yes",
        "saslMechanisms": sasl.mechanism if sasl else "ANONYMOUS",
    }


def _connector(topology: Topology, connector: Connector) -> Attributes:
    made: Attributes = {
        "name": connector.name,
        "host": connector.host,
        "port": connector.port,
        "role": connector.role,
    }
    if connector.cost != 1:
        made["cost"] = connector.cost
    if connector.tls is not None:
        made["sslProfile"] = connector.tls
        if topology.tls[connector.tls].verify != "name":
            made["verifyHostname"] = "no"
    sasl = _sasl(topology, connector.sasl)
    made["saslMechanisms"] = sasl.mechanism if sasl else "ANONYMOUS"
    if sasl is not None and sasl.user is not None:
        made |= {"saslUsername": sasl.user, "saslPassword": f"file:{sasl.password_file}"}
    return made


def _sasl(topology: Topology, name: str | None) -> Sasl | None:
    return topology.sasl[name] if name is not None else None


def _addresses(plan: Plan, router: RouterPlan) -> Iterator[Attributes]:
    """Yields addresses, those of all queues of the mesh too: a router says where its clients' messages go."""
    program = PROGRAMS[plan.topology.program]
    mesh = next(mesh for mesh in plan.meshes if router.id in mesh)
    queues = dict.fromkeys(route.address for name in mesh for route in plan.routers[name].auto_links)
    for rule in plan.topology.addresses:
        leads_through = rule.matches[1] in queues
        queues.pop(rule.matches[1], None)
        yield _address(rule, program.waypoint if leads_through else {})
    for queue in queues:
        yield _address(AddressRule(pattern=queue, distribution="balanced"), program.waypoint)


def _address(rule: AddressRule, waypoint: Mapping[str, str]) -> Attributes:
    key, value = rule.matches
    return {key: value, "distribution": rule.distribution, **waypoint}


def _routes(router: RouterPlan, program: Program) -> Iterator[Entity]:
    """Yields auto-links and link routes; `in` is what comes from the broker, as the router sees it."""
    for route in router.auto_links:
        yield "autoLink", _from_queue(route, program)
        yield "autoLink", {"address": route.address, "direction": "out", "connection": route.connection}
    for route in router.link_routes:
        for direction in ("in", "out"):
            yield (
                "linkRoute",
                {"prefix": route.address, "direction": direction, "connection": route.connection},
            )


def _from_queue(route: Route, program: Program) -> Attributes:
    receive = route.address + program.receive_suffix
    made: Attributes = {"address": receive, "direction": "in", "connection": route.connection}
    return {**made, "externalAddress": route.address} if receive != route.address else made


def _text(kind: str, attributes: Mapping[str, Any]) -> str:
    lines = [f"    {name}: {_value(value)}" for name, value in attributes.items()]
    return "\n".join([f"{kind} {{", *lines, "}", ""])


def _value(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
