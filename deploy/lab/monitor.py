"""The config of Inflight for a lab: that of its topology, with what is found here instead of on its hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collectors.router.topology import pair, parse_expected
from deploy.embedded.programs.artemis import Artemis
from deploy.lab.routers import Router
from deploy.topology.outputs import monitor
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

_INTERVAL: Final = "1s"
_SUFFIXES: Final = {program.receive_suffix for program in PROGRAMS.values()}


def config(plan: Plan, routers: Mapping[str, Router], brokers: Mapping[str, Artemis]) -> dict[str, Any]:
    """Return the config; it passes `inflight check`."""
    made = monitor.config(plan)
    for mesh in made["meshes"].values():
        mesh["interval"] = _INTERVAL
        if "expect" in mesh:
            ends = [parse_expected(link) for link in mesh["expect"]]
            mesh["expect"] = sorted(
                pair(routers[one].router_id, routers[other].router_id).id for one, other in ends
            )
    for name, broker in brokers.items():
        made["brokers"][name] |= {
            "jolokia": broker.jolokia_url,
            "origin": broker.origin,
            "auth": {"user": broker.user, "password_file": str(broker.password_file)},
            "interval": _INTERVAL,
        }
    queues = {route.address for router in plan.routers.values() for route in router.auto_links}
    made["paths"] = {name: _path(path, queues, routers) for name, path in made["paths"].items()}
    return made


def _path(path: Mapping[str, Any], queues: set[str], routers: Mapping[str, Router]) -> dict[str, Any]:
    """Return the path with the address from which these routers bring what came through a queue."""
    address = path["address"]
    receive = path.get("receive_address", address)
    to = [path["to"]] if isinstance(path["to"], str) else path["to"]
    if address not in queues or not {*to} <= {*routers} or receive not in {address + s for s in _SUFFIXES}:
        return dict(path)
    suffix = routers[to[0]].receive_suffix
    kept = {key: value for key, value in path.items() if key != "receive_address"}
    return {**kept, "receive_address": address + suffix} if suffix else kept
