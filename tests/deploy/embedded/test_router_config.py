"""The configuration for real routers, against what real routers said their attributes are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deploy.embedded.programs.router_config import (
    DISPATCH,
    SKUPPER,
    Broker,
    Program,
    RouterSpec,
    configuration,
)

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
CAPTURED = {
    DISPATCH: ("qdrouterd-1.19.0-line.json", "QDR.C"),
    SKUPPER: ("skrouterd-main-2026-05-line.json", "SK.C"),
}
ENTITIES = {
    "listener": "listener",
    "connector": "connector",
    "address": "router.config.address",
    "autoLink": "router.config.autoLink",
}


def entities(program: Program) -> list[tuple[str, dict[str, str]]]:
    a = RouterSpec("A", port=1001, mesh_port=1002)
    spec = RouterSpec("C", peers=(a,), broker=Broker(5672, ("inflight.q",)), port=2001, mesh_port=2002)
    text = configuration(spec, program)
    return [
        (kind, dict(re.findall(r"(\w+): (.*)", body)))
        for kind, body in re.findall(r"^(\w+) \{\n(.*?)^\}\n", text, re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.parametrize("program", [DISPATCH, SKUPPER], ids=lambda p: p.name)
def test_only_attributes_that_the_router_has_are_written(program: Program) -> None:
    """Every attribute stands in the captured reply for its entity type; a router refuses others."""
    file, router = CAPTURED[program]
    captured = json.loads((CAPTURES / file).read_text())[router]
    seen = set()
    for kind, attributes in entities(program):
        if kind in ENTITIES:
            seen.add(kind)
            assert set(attributes) <= set(captured[ENTITIES[kind]]["body"]["attributeNames"]), kind
    assert seen == set(ENTITIES)


def test_dispatch_leads_through_the_queue_by_phases() -> None:
    """One address, a waypoint, with links both ways."""
    made = entities(DISPATCH)
    assert ("address", {"pattern": "inflight.q", "distribution": "balanced", "waypoint": "yes"}) in made
    assert [a for kind, a in made if kind == "autoLink"] == [
        {"address": "inflight.q", "direction": "in", "connection": "broker"},
        {"address": "inflight.q", "direction": "out", "connection": "broker"},
    ]


def test_skupper_leads_out_of_the_queue_by_another_address() -> None:
    """It has no phases: the receivers' address is linked to the queue under the queue's own name."""
    assert [a for kind, a in entities(SKUPPER) if kind == "autoLink"] == [
        {
            "address": "inflight.q.from-queue",
            "direction": "in",
            "connection": "broker",
            "externalAddress": "inflight.q",
        },
        {"address": "inflight.q", "direction": "out", "connection": "broker"},
    ]


def test_the_route_stays_on_the_messages_and_the_mesh_is_dialled() -> None:
    """The clients' listener strips nothing; the connector to a peer goes to its port for routers."""
    made = entities(DISPATCH)
    clients = [a for kind, a in made if kind == "listener" and "role" not in a]
    assert [(a["port"], a["stripAnnotations"]) for a in clients] == [("2001", "no")]
    assert [(a["role"], a["port"]) for kind, a in made if kind == "connector"] == [
        ("inter-router", "1002"),
        ("route-container", "5672"),
    ]
