"""The management node over the wire, and every attribute against the captures of real routers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standin_clients import Clients, Requester, StandIn

from deploy.standin.flavours import FLAVOURS
from deploy.standin.management import schema

pytestmark = pytest.mark.slow

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
LINES = {"dispatch": "qdrouterd-1.19.0-line.json", "skupper": "skrouterd-main-2026-05-line.json"}


def _captured(flavour: str) -> dict[str, dict[str, set[str]]]:
    """Entity type -> attribute -> names of the types seen in any router's reply, in its order."""
    found: dict[str, dict[str, set[str]]] = {}
    for router, replies in json.loads((CAPTURES / LINES[flavour]).read_text()).items():
        if router in {"GET-MGMT-NODES", "asked by attribute"}:
            continue
        for entity, reply in replies.items():
            names = reply["body"].get("attributeNames", [])
            if names:
                kinds = found.setdefault(entity, {name: set() for name in names})
                for row in reply["body"]["results"]:
                    for name, value in zip(names, row, strict=True):
                        kinds[name].add(type(value).__name__)
    return found


@pytest.mark.parametrize("flavour", ["dispatch", "skupper"])
def test_schema_is_the_captured_one(flavour: str) -> None:
    """Every entity type with exactly its attributes, in the order of the real replies."""
    captured = _captured(flavour)
    ours = {name: e.attributes(flavour) for name, e in schema.ENTITIES.items() if e.attributes(flavour)}
    assert {name: list(attributes) for name, attributes in ours.items()} == {
        name: list(attributes) for name, attributes in captured.items()
    }


@pytest.fixture(scope="module", params=["dispatch", "skupper"])
def busy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, StandIn]]:
    """A (its management), with a neighbour and a failing connector to a broker, in each flavour."""
    directory = tmp_path_factory.mktemp(request.param)
    flavour = ("--flavour", request.param)
    a = StandIn(directory, "A", *flavour, "--auto-link", "orders=127.0.0.1:1")
    b = StandIn(directory, "B", *flavour, "--connect", f"127.0.0.1:{a.port},name=to-A")
    yield request.param, a
    for one in (b, a):
        one.stop()


def _plain(value: Any) -> str:
    return {"Url": "str", "AnnotationDict": "dict"}.get(type(value).__name__, type(value).__name__)


# Facts of this stand-in that no captured reply shows, because nothing had failed or ended there.
_FURTHER_TYPES = {
    ("router.config.autoLink", "linkRef"): {"NoneType"},
    ("router.config.autoLink", "lastError"): {"str"},
}


def test_each_attribute_has_a_type_that_a_real_router_gave_it(
    busy: tuple[str, StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """Each entity of each type, in the middle of traffic, value by value."""
    flavour, a = busy
    for address in ("closest/a", "multicast/b", "inflight/c"):
        clients.receiver(a.port, address)
        sender = clients.sender(a.port, address)
        sender.send(5)
        sender.settled(5)
    management = requester(a.port)
    captured = _captured(flavour)
    seen = 0
    for entity, kinds in captured.items():
        full = FLAVOURS[flavour].entity_prefix + entity
        nodes = [f"amqp:/_topo/0/{name}.stand-in/$management" for name in "AB"]
        for row in (row for node in nodes for row in management.rows(full, node)):
            for name, value in row.items():
                allowed = kinds[name] | _FURTHER_TYPES.get((entity, name), set())
                assert _plain(value) in allowed, f"{entity} {name} = {value!r}"
                seen += 1
    assert seen > 300


def test_type_of_a_row_is_that_of_the_flavour(
    busy: tuple[str, StandIn], requester: Callable[[int], Requester]
) -> None:
    """And the one row that calls itself otherwise in the real router does so here."""
    flavour, a = busy
    management = requester(a.port)
    for full, name in schema.entity_types(flavour).items():
        expected = "org.apache.qpid.dispatch.routerMetrics" if name == "routerMetrics" else full
        assert {row["type"] for row in management.rows(full)} <= {expected}


def test_it_says_that_it_is_a_stand_in(
    busy: tuple[str, StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """In its id, its version, its container id and its connection's properties."""
    flavour, a = busy
    management = requester(a.port)
    entity, version = ("router", "version") if flavour == "dispatch" else ("routerMetrics", "")
    row = management.rows(FLAVOURS[flavour].entity_prefix + entity)[0]
    assert row["id"] == "A.stand-in"
    assert "stand-in" in row[version]
    connection = clients.connect(a.port)
    assert connection.remote_container == "A.stand-in"
    assert "stand-in" in connection.remote_properties["version"]


def test_unknown_types_are_refused_as_captured(
    busy: tuple[str, StandIn], requester: Callable[[int], Requester]
) -> None:
    """Status, text and an empty body as in the real reply; the other flavour's types are unknown, too."""
    flavour, a = busy
    management = requester(a.port)
    name = {
        "dispatch": "org.apache.qpid.dispatch.routerMetrics",
        "skupper": "io.skupper.router.router.config.linkRoute",
    }
    captured = json.loads((CAPTURES / LINES[flavour]).read_text())
    first = next(v for k, v in captured.items() if k.endswith(".A"))
    expected = first["routerMetrics" if flavour == "dispatch" else "router.config.linkRoute"]
    reply = management.query(name[flavour])
    assert (dict(reply.properties), reply.body) == (expected["properties"], expected["body"])


@pytest.mark.parametrize("asked", ["two known and one unknown asked", "only unknown asked"])
def test_unknown_attributes_are_answered_as_captured(
    busy: tuple[str, StandIn], requester: Callable[[int], Requester], asked: str
) -> None:
    """By type: refused with 404 and the name, or told with another column in the place, under its name."""
    flavour, a = busy
    captured = json.loads((CAPTURES / "unknown-attributes.json").read_text())
    replies = captured["qdrouterd-1.19.0" if flavour == "dispatch" else "skrouterd-3.5.1"]
    known = {"io.skupper.router.routerMetrics": ["identity", "type"]}
    management = requester(a.port)
    seen: set[int] = set()
    for kind, by_query in replies.items():
        full = (
            kind
            if kind.startswith(FLAVOURS[flavour].entity_prefix)
            else FLAVOURS[flavour].entity_prefix + kind
        )
        names = ["noSuchAttribute"]
        if asked.startswith("two"):
            names = [*known.get(full, ["name", "identity"]), *names]
        reply, expected = management.query(full, names), by_query[asked]
        assert dict(reply.properties) == expected["properties"], full
        assert reply.body.get("attributeNames") == expected["body"].get("attributeNames"), full
        seen.add(reply.properties["statusCode"])
    assert seen == {200, 400, 404}


def test_nodes_are_listed_and_reached_over_the_mesh(
    line: list[StandIn], requester: Callable[[int], Requester]
) -> None:
    """GET-MGMT-NODES has all three, and each answers for itself through A."""
    management = requester(line[0].port)
    nodes = management.ask({"operation": "GET-MGMT-NODES"}).body
    assert nodes == [f"amqp:/_topo/0/{name}.stand-in/$management" for name in "ABC"]
    answered = [management.rows("org.apache.qpid.dispatch.router", node)[0]["id"] for node in nodes]
    assert answered == ["A.stand-in", "B.stand-in", "C.stand-in"]


def test_node_rows_tell_the_line(line: list[StandIn], requester: Callable[[int], Requester]) -> None:
    """Costs, next hops and neighbours as the captured A - B - C has them."""
    rows = requester(line[0].port).rows("org.apache.qpid.dispatch.router.node")
    told = [(r["id"][0], [x[0] for x in r["linkState"]], r["nextHop"], r["cost"], r["index"]) for r in rows]
    assert told == [
        ("A", ["B"], "(self)", None, 0),
        ("B", ["A", "C"], None, 1, 1),
        ("C", ["B"], "B.stand-in", 2, 2),
    ]


def test_replies_are_presettled(line: list[StandIn], clients: Clients) -> None:
    """As the captured ones are."""
    replies = clients.receiver(line[0].port, None, dynamic=True)
    clients.sender(line[0].port, "$management").send(
        reply_to=replies.link.remote_source.address, properties={"operation": "GET-MGMT-NODES"}
    )
    replies.got(1)
    assert replies.presettled == [True]


@pytest.mark.parametrize(
    ("properties", "status"),
    [
        ({}, 400),
        ({"operation": "DANCE"}, 501),
        ({"operation": "DELETE", "name": "x", "type": "org.apache.qpid.dispatch.router.link"}, 403),
        ({"operation": "READ", "name": "x", "type": "org.apache.qpid.dispatch.router.link"}, 404),
        ({"operation": "QUERY", "entityType": "org.apache.qpid.dispatch.router.link", "count": -1}, 400),
        ({"operation": "QUERY"}, 400),
    ],
)
def test_errors_have_their_status(
    line: list[StandIn], requester: Callable[[int], Requester], properties: dict[str, Any], status: int
) -> None:
    """What cannot be done is told by status, and the node goes on answering."""
    management = requester(line[0].port)
    assert management.ask(properties).properties["statusCode"] == status
    assert management.ask({"operation": "GET-MGMT-NODES"}).properties["statusCode"] == 200


def test_columns_and_pages(line: list[StandIn], requester: Callable[[int], Requester]) -> None:
    """Only the columns asked for; link honours count and offset, allocator does not."""
    management = requester(line[0].port)
    prefix = "org.apache.qpid.dispatch."
    everything = management.query(prefix + "router.link", ["identity"]).body["results"]
    page = management.query(prefix + "router.link", ["identity", "nonsense"], offset=1, count=2)
    assert page.body["attributeNames"] == ["identity", "name"]
    assert [row[:1] for row in page.body["results"]] == everything[1:3]
    whole = management.query(prefix + "allocator", ["typeName"]).body["results"]
    assert management.query(prefix + "allocator", ["typeName"], offset=1, count=1).body["results"] == whole


def test_read_finds_one_entity(line: list[StandIn], requester: Callable[[int], Requester]) -> None:
    """By name or identity, as a map of its attributes."""
    reply = requester(line[1].port).ask(
        {"operation": "READ", "type": "org.apache.qpid.dispatch.router", "identity": "1"}
    )
    assert reply.properties["statusCode"] == 200
    assert reply.body["id"] == "B.stand-in"


def test_counters_tell_what_happened(
    line: list[StandIn], clients: Clients, requester: Callable[[int], Requester], address: str
) -> None:
    """Ten acknowledged and five presettled from A to C, counted at each router's links and addresses."""
    clients.receiver(line[2].port, address)
    acknowledged = clients.sender(line[0].port, address)
    acknowledged.send(10)
    acknowledged.settled(10)
    clients.sender(line[0].port, address, presettled=True).send(5)
    management = requester(line[0].port)
    prefix = "org.apache.qpid.dispatch."
    nodes = {name: f"amqp:/_topo/0/{name}.stand-in/$management" for name in "ABC"}

    def counts(name: str) -> tuple[int, int, int]:
        rows = management.rows(prefix + "router.address", nodes[name])
        found = next((row for row in rows if row["key"] == "M0" + address), None)
        keys = ("deliveriesIngress", "deliveriesEgress", "deliveriesTransit")
        return tuple(found[key] for key in keys) if found else (0, 0, 0)  # type: ignore[return-value] # three

    clients.wait(lambda: counts("C") == (0, 15, 0), "15 out of C")
    assert counts("A") == (15, 0, 15)
    assert counts("B") == (0, 0, 15)
    rows = management.rows(prefix + "router.link", nodes["C"])
    link = next(row for row in rows if row["owningAddr"] == "M0" + address)
    assert (link["acceptedCount"], link["presettledCount"], link["deliveryCount"]) == (10, 5, 15)
    index = next(
        row["index"]
        for row in management.rows(prefix + "router.node", nodes["C"])
        if row["id"] == "A.stand-in"
    )
    assert link["ingressHistogram"][index] == 15
    assert sum(link["ingressHistogram"]) == 15
