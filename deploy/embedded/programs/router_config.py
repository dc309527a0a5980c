"""Routers as data, and the configuration files of qdrouterd and skrouterd made from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deploy.embedded.supervise.ports import LOOPBACK, free_port

MULTICAST_PREFIX = "multicast"


@dataclass(frozen=True)
class Broker:
    """A broker that a router connects to, and its queues; addresses of the same names lead into them."""

    port: int
    queues: tuple[str, ...]
    name: str = "broker"


@dataclass(frozen=True)
class RouterSpec:
    """A router: clients connect at `port`, routers at `mesh_port`; it connects to its `peers`."""

    id: str
    peers: tuple[RouterSpec, ...] = ()
    broker: Broker | None = None
    port: int = field(default_factory=free_port)
    mesh_port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"amqp://{LOOPBACK}:{self.port}"


@dataclass(frozen=True)
class Program:
    """A make of router: the prefix of its entity types, and how an address leads through a queue."""

    name: str
    prefix: str
    waypoints: bool
    # Without waypoints an address leads either into a queue or out of it: receivers use one with this suffix.
    receive_suffix: str = ""

    def entity_type(self, short: str) -> str:
        return f"{self.prefix}.{short}"


DISPATCH = Program("qdrouterd", "org.apache.qpid.dispatch", waypoints=True)
SKUPPER = Program("skrouterd", "io.skupper.router", waypoints=False, receive_suffix=".from-queue")
PROGRAMS = (DISPATCH, SKUPPER)


def configuration(spec: RouterSpec, program: Program) -> str:
    """Return the text of a router's configuration file."""
    anonymous = {"authenticatePeer": "no", "saslMechanisms": "ANONYMOUS"}
    entities: list[tuple[str, dict[str, object]]] = [
        ("router", {"mode": "interior", "id": spec.id, "workerThreads": 1}),
        # So the probes see the route of each message.
        ("listener", {"host": LOOPBACK, "port": spec.port, "stripAnnotations": "no", **anonymous}),
        (
            "listener",
            {
                "name": f"inter-{spec.id}",
                "host": LOOPBACK,
                "port": spec.mesh_port,
                "role": "inter-router",
                **anonymous,
            },
        ),
        ("address", {"prefix": MULTICAST_PREFIX, "distribution": "multicast"}),
        ("log", {"module": "DEFAULT", "enable": "warning+"}),
        *(("connector", _connector(f"to-{p.id}", p.mesh_port, "inter-router")) for p in spec.peers),
    ]
    if spec.broker is not None:
        entities.append(("connector", _connector(spec.broker.name, spec.broker.port, "route-container")))
        for queue in spec.broker.queues:
            entities += _through_queue(queue, spec.broker.name, program)
    return "\n".join(_entity(kind, attributes) for kind, attributes in entities)


def _through_queue(queue: str, broker: str, program: Program) -> list[tuple[str, dict[str, object]]]:
    """Return an address and its auto-links; seen from the router, `in` is out of the queue."""
    receive = queue + program.receive_suffix
    inwards: dict[str, object] = {"address": receive, "direction": "in", "connection": broker}
    if receive != queue:
        inwards["externalAddress"] = queue
    waypoint = {"waypoint": "yes"} if program.waypoints else {}
    return [
        ("address", {"pattern": queue, "distribution": "balanced", **waypoint}),
        ("autoLink", inwards),
        ("autoLink", {"address": queue, "direction": "out", "connection": broker}),
    ]


def _connector(name: str, port: int, role: str) -> dict[str, object]:
    return {"name": name, "host": LOOPBACK, "port": port, "role": role, "saslMechanisms": "ANONYMOUS"}


def _entity(kind: str, attributes: Mapping[str, object]) -> str:
    lines = [f"    {name}: {value}" for name, value in attributes.items()]
    return "\n".join([f"{kind} {{", *lines, "}", ""])
