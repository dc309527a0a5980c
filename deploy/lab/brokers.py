"""The brokers of a lab: real ones, small, each with a Jolokia of its own."""

from __future__ import annotations

from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.topology.outputs import artemis
from deploy.topology.plan import Plan


def broker(supervisor: Supervisor, plan: Plan, name: str) -> Artemis:
    """Return an Artemis with the configuration that a host would get."""
    at = plan.brokers[name]
    return Artemis(
        supervisor,
        name=name,
        folder=f"parts/{name}",
        host=at.address,
        port=at.port,
        configuration=artemis.configuration(plan, name),
    )
