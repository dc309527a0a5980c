"""Whatever stands in a file: a network from which everything can be written, or mistakes in words."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from collectors.config.load import ConfigError
from deploy.topology import load, node_link, outputs
from deploy.topology.form import ENTITY_KINDS, Broker, Link, Router, Topology
from deploy.topology.load import Network
from deploy.topology.mistakes import Source
from deploy.topology.show import text

NODES = st.sampled_from(["A", "B", "C", "s", "t", "--", "", "Z"])
PLAIN = st.one_of(
    NODES,
    st.integers(-1, 70_000),
    st.booleans(),
    st.none(),
    st.floats(),
    st.text(max_size=3),
    st.just("edge"),
)
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NODES, inner, max_size=2), max_leaves=4
)
RARELY = st.integers(0, 9).map(lambda number: number == 9)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["host", "port", "role", "cost", "name", "http", "prefix"]), PLAIN
)
ENTITIES = st.dictionaries(st.sampled_from(ENTITY_KINDS), st.lists(ATTRIBUTES, max_size=2), max_size=2)


def part(model: Any, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly right, each key now and then with anything in it."""
    keys = [field.alias or name for name, field in model.model_fields.items() if name not in known]
    odd = st.dictionaries(st.sampled_from([*keys, "other"]), ANYTHING, max_size=1)
    right = st.fixed_dictionaries({}, optional=known)
    return st.builds(
        lambda one, other: {**one, **other}, right, RARELY.flatmap(lambda yes: odd if yes else st.just({}))
    )


def chain(routers: dict[str, Any], brokers: dict[str, Any], more: list[Any]) -> dict[str, Any]:
    """Everything hangs together; what else there is may be wrong."""
    nodes = [*routers, *brokers]
    links = [{"from": node, "to": nodes[0], "queues": "q"} for node in brokers]
    links += [{"from": node, "to": nodes[0]} for node in [*routers][1:]]
    return {"version": 1, "routers": routers, "brokers": brokers, "links": links + more}


ROUTERS = st.dictionaries(st.sampled_from("ABC"), part(Router, entities=ENTITIES), min_size=1)
BROKERS = st.dictionaries(st.sampled_from("st"), part(Broker, queues=st.just(["q"])))
ENDS = st.sampled_from("ABCst")
LINK = st.builds(
    lambda one, other, rest: {"from": one, "to": other, **rest},
    ENDS,
    ENDS,
    part(Link, cost=st.integers(0, 9), queues=st.just("q"), by=st.sampled_from(["mirror", "amqp"])),
)
DOCUMENTS = st.builds(
    lambda document, rest: {**document, **rest},
    st.builds(chain, ROUTERS, BROKERS, RARELY.flatmap(lambda odd: st.lists(LINK, max_size=2 if odd else 0))),
    part(Topology),
)


def tried(document: dict[str, Any]) -> None:
    found: Network | list[str]
    try:
        found = load.made(document, Source("any"))
    except ConfigError as error:
        found = error.mistakes
    if isinstance(found, list):
        assert found
        assert all(mistake.startswith("any: ") for mistake in found)
    else:
        event("right")
        assert outputs.files(found)
        assert [*text.lines(found.plan)]


@settings(max_examples=400)
@given(DOCUMENTS)
def test_any_topology(document: dict[str, Any]) -> None:
    tried(document)


NODE = st.builds(
    lambda kind, name, rest: {"type": kind, "id": name, **rest},
    RARELY.flatmap(lambda odd: ANYTHING if odd else st.sampled_from(["router", "broker"])),
    ENDS,
    ENTITIES | st.dictionaries(st.sampled_from([*ENTITY_KINDS, "mode", "host"]), ANYTHING, max_size=1),
)
GRAPH_LINK = st.fixed_dictionaries(
    {"source": ENDS | st.integers(-1, 3), "target": ENDS},
    optional={"cost": st.integers(0, 3), "value": PLAIN},
)
GRAPH_LINKS = st.lists(GRAPH_LINK, max_size=3) | ANYTHING


@settings(max_examples=300)
@given(st.lists(NODE | PLAIN, max_size=3), GRAPH_LINKS)
def test_any_graph(nodes: list[Any], links: Any) -> None:
    converted = node_link.convert({"nodes": nodes, "links": links}, "any")
    if not converted.mistakes:
        tried(converted.document)
