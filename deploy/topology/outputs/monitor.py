"""inflight.yaml of a network: where probes connect, which links there should be, and who talks to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from collectors.config.model import Tls
from collectors.router.topology import pair
from deploy.topology import graph
from deploy.topology.outputs import artemis
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

FILE: Final = "inflight.yaml"
_EYES: Final = 5  # URLs of a mesh: enough to see both halves of one that is split
_CONSOLE_PORT: Final = 8161  # of a stock Artemis


def config(plan: Plan) -> dict[str, Any]:
    """Returns the config; it passes `inflight check`."""
    topology = plan.topology
    meshes = mesh_names(plan)
    made: dict[str, Any] = {"version": 1, "site": topology.name}
    made["meshes"] = {name: _mesh(plan, routers) for name, routers in meshes.items()}
    if plan.brokers:
        made["brokers"] = {name: _broker(plan, name, meshes) for name in plan.brokers}
    made["endpoints"] = {
        **{
            router: {"url": url(plan, router), "mesh": name, **_login(plan, router)}
            for name, routers in meshes.items()
            for router in routers
        },
        **{
            broker: {"url": url(plan, broker), "mesh": _mesh_of(plan, broker, meshes), **_login(plan, broker)}
            for broker in plan.brokers
        },
    }
    made["paths"] = (
        {name: talk.written for name, talk in topology.paths.items()}
        if topology.paths
        else _pairs(plan, meshes)
    )
    return made


def mesh_names(plan: Plan) -> dict[str, list[str]]:
    """Returns the routers of each mesh; of several, each is named by its first router, too."""
    meshes = plan.meshes
    if len(meshes) == 1:
        return {plan.topology.name: meshes[0]}
    return {f"{plan.topology.name}-{routers[0]}": routers for routers in meshes}


def url(plan: Plan, node: str) -> str:
    """Returns the URL at which clients of a router or broker connect."""
    if node in plan.routers:
        router = plan.routers[node]
        listener = router.listener("normal")
        secured = listener.tls is not None or "sslProfile" in listener.attributes
        host, port = router.address, listener.port
    else:
        broker = plan.brokers[node]
        secured, host, port = broker.broker.tls is not None, broker.address, broker.port
    host = f"[{host}]" if ":" in host else host
    return f"{'amqps' if secured else 'amqp'}://{host}:{port}"


def _mesh(plan: Plan, routers: Sequence[str]) -> dict[str, Any]:
    interior = [name for name in routers if plan.routers[name].router.mode == "interior"]
    eyes = interior if len(interior) <= _EYES else interior[:: -(-len(interior) // _EYES)]
    links = graph.links(plan.mesh_graph())
    expect = sorted(pair(one, other).id for one, other in links if one in routers)
    login = _login(plan, eyes[0])
    made: dict[str, Any] = {"urls": [url(plan, name) for name in eyes], **login}
    others = {
        url(plan, name): own.get("sasl") or {"mechanism": "ANONYMOUS"}
        for name in eyes
        if (own := _login(plan, name)).get("sasl") != login.get("sasl")
    }
    if others:
        made["logins"] = others
    return {**made, "expect": expect} if expect else made


def _broker(plan: Plan, name: str, meshes: dict[str, list[str]]) -> dict[str, Any]:
    broker = plan.brokers[name].broker
    host = plan.brokers[name].address
    host = f"[{host}]" if ":" in host else host
    jolokia = broker.jolokia or f"http://{host}:{_CONSOLE_PORT}/console/jolokia"
    console = urlsplit(jolokia)
    where = console.netloc.removesuffix(f":{console.port}")
    made: dict[str, Any] = {
        "jolokia": jolokia,
        "origin": broker.origin or f"{console.scheme}://{where}",
        "mesh": _mesh_of(plan, name, meshes),
    }
    if queues := _queues(plan, name):
        made["queues"] = {"include": queues}
    return {**made, "auth": _plain(broker.auth)} if broker.auth else made


def _queues(plan: Plan, name: str) -> list[str]:
    """Returns patterns of the queues that a broker has by the file: its own, mirrored ones, link routes'."""
    found = artemis.queues(plan, name)
    for source, broker in plan.brokers.items():
        if any(link.to == name and link.by == "mirror" for link in broker.links):
            found += artemis.queues(plan, source)
    routes = (route for router in plan.routers.values() for route in router.link_routes)
    found += [f"{route.address}*" for route in routes if route.broker == name]
    return list(dict.fromkeys(found))


def _mesh_of(plan: Plan, broker: str, meshes: dict[str, list[str]]) -> str:
    """Returns the mesh of a broker: that of the nearest router, as it may stand between two."""
    ways = graph.costs(plan.graph(), broker)
    nearest = min((router for router in plan.routers if router in ways), key=lambda router: ways[router])
    return next(name for name, routers in meshes.items() if nearest in routers)


def _login(plan: Plan, node: str) -> dict[str, Any]:
    topology = plan.topology
    part = topology.routers[node] if node in topology.routers else topology.brokers[node]
    made: dict[str, Any] = {}
    if part.tls is not None:
        profile = topology.tls[part.tls]
        made["tls"] = _plain(Tls(ca=profile.ca, cert=profile.cert, key=profile.key, verify=profile.verify))
    if part.sasl is not None:
        made["sasl"] = _plain(topology.sasl[part.sasl])
    return made


def _plain(part: Any) -> dict[str, Any]:
    return dict(part.model_dump(mode="json", exclude_defaults=True))


def _pairs(plan: Plan, meshes: dict[str, list[str]]) -> dict[str, Any]:
    """Returns paths for a file that names none: from router to router of each mesh, and by all queues.

    One goes right across each mesh: if a router on it dies, the way round is seen.
    """
    made: dict[str, Any] = {}
    for routers in meshes.values():
        pairs = [*zip(routers, [*routers[1:], routers[0]], strict=True)]
        across = _farthest(plan, routers)
        if across not in pairs and across[::-1] not in pairs:
            pairs.append(across)
        for source, to in pairs:
            made[f"{source}-{to}"] = {"from": source, "to": to, "address": f"inflight/{source}-{to}"}
    for broker, queue, at, linked in _ways_through(plan):
        name = broker if broker not in made else f"{broker}-{queue}"
        source = next(
            (router for mesh in meshes.values() if at[0] in mesh for router in mesh if router not in at),
            at[0],
        )
        made[name] = {"from": source, "to": at[-1], "address": queue, "via": broker}
        suffix = PROGRAMS[plan.topology.program].receive_suffix
        if linked and suffix:
            made[name]["receive_address"] = queue + suffix
    return made


def _farthest(plan: Plan, routers: Sequence[str]) -> tuple[str, str]:
    """Returns the first two routers that are as far apart as any."""
    mesh = plan.mesh_graph()
    ways = {source: graph.costs(mesh, source) for source in routers}
    return max(
        ((one, other) for one in routers for other in routers), key=lambda ends: ways[ends[0]][ends[1]]
    )


def _ways_through(plan: Plan) -> Iterator[tuple[str, str, list[str], bool]]:
    """Yields each broker and address that routers lead to it, the routers, and whether by auto-links."""
    for broker in plan.brokers:
        for kind in ("auto_links", "link_routes"):
            found: dict[str, list[str]] = {}
            for router in plan.routers.values():
                for route in getattr(router, kind):
                    if route.broker == broker:
                        found.setdefault(route.address, []).append(router.id)
            for address, at in found.items():
                yield broker, address, at, kind == "auto_links"
