"""Skupper v2 resources: a file for each site, which is what Skupper calls where a router is.

Skupper carries TCP only: addresses, distribution, auto-links and link routes have no resource there. What it
can carry of a topology is its links and the brokers' ports, which every site gets a listener for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from deploy.topology.plan import Connector, Plan

NOTE: Final = (
    "Skupper v2: links, and brokers as TCP services; it has no resources for addresses and routes of AMQP"
)
_API: Final = "skupper.io/v2alpha1"
_LONGEST: Final = 50  # of a name, so that what Skupper adds to it fits into Kubernetes' 63


def files(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Each site's resources, by its name: Kubernetes allows lower case only."""
    sites = _site_names([*plan.routers, *plan.brokers])
    return {sites[router]: list(_resources(plan, router, sites)) for router in plan.routers}


def _site_names(nodes: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in nodes:
        name = re.sub(r"[^a-z0-9]+", "-", node.lower()).strip("-")[:_LONGEST] or "site"
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        found[node] = next(each for each in itertools.chain([name], numbered) if each not in found.values())
    return found


def _resources(plan: Plan, router: str, sites: dict[str, str]) -> Iterator[dict[str, Any]]:
    edge = plan.routers[router].router.mode == "edge"
    yield _resource("Site", sites[router], {"edge": True} if edge else {})
    roles = sorted({c.role for other in plan.routers.values() for c in other.connectors if c.to == router})
    if roles:
        # Skupper itself makes the certificate that is named here, unless there is one of that name.
        spec: dict[str, Any] = {
            "roles": [{"name": role, "port": plan.routers[router].listener(role).port} for role in roles],
            "tlsCredentials": "skupper-site-server",
            "generateTlsCredentials": True,
        }
        yield _resource("RouterAccess", sites[router], spec)
    for connector in plan.routers[router].connectors:
        if connector.to in plan.routers:
            yield _link(plan, connector, sites)
    for broker in plan.brokers.values():
        key, service = sites[broker.name], {"routingKey": sites[broker.name]}
        if any(c.to == broker.name for c in plan.routers[router].connectors):
            yield _resource(
                "Connector", key, {**service, "host": broker.address, "port": broker.port, "type": "tcp"}
            )
        yield _resource("Listener", key, {**service, "host": key, "port": broker.port, "type": "tcp"})


def _link(plan: Plan, connector: Connector, sites: dict[str, str]) -> dict[str, Any]:
    to = str(connector.to)
    endpoint = {"name": connector.role, "host": plan.routers[to].address, "port": str(connector.port)}
    spec: dict[str, Any] = {
        "endpoints": [endpoint],
        "cost": connector.cost,
        "tlsCredentials": f"link-to-{sites[to]}",
    }
    return _resource("Link", f"link-{sites[to]}{connector.name.removeprefix(f'to-{to}')}".lower(), spec)


def _resource(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"apiVersion": _API, "kind": kind, "metadata": {"name": name}}
    return {**made, "spec": spec} if spec else made
