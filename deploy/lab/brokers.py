"""The brokers of a lab: real ones, small, each with a Jolokia of its own, and a database where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deploy.embedded.programs import postgres
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.programs.postgres import Postgres
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.jvm import artifacts
from deploy.topology.outputs import artemis
from deploy.topology.plan import Plan


def prepare(document: Mapping[str, Any]) -> None:
    """Fetch what the brokers of a topology need, and raise Problem where a program is missing."""
    brokers = document.get("brokers") or {}
    stored = any(broker and broker.get("database") for broker in brokers.values())
    if stored:
        postgres.programs()
    if brokers:
        artifacts.ensure(extras=[artifacts.DATABASE] if stored else [])


def broker(supervisor: Supervisor, plan: Plan, name: str) -> Artemis:
    """Return an Artemis with the configuration that a host would get."""
    at = plan.brokers[name]
    database = None
    if (there := at.database) is not None:
        folder = f"parts/{there.name}"
        database = Postgres(supervisor, name=there.name, folder=folder, host=there.host, port=there.port)
    return Artemis(
        supervisor,
        name=name,
        folder=f"parts/{name}",
        host=at.address,
        port=at.port,
        configuration=artemis.configuration(plan, name),
        database=database,
    )
