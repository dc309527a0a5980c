"""Shapes of 1 to 50 routers: connected as asked, no port twice, listeners and connectors agree."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.config import load as config_load
from deploy.topology import graph, load, outputs, shapes
from deploy.topology.load import Network

COUNTS = st.integers(1, 50)
SHAPES = st.sampled_from(sorted(shapes.SHAPES))
PROGRAMS = st.sampled_from(["qdrouterd", "skrouterd"])


def made(shape: str, count: int, program: str = "qdrouterd", brokers: int = 0) -> Network:
    stores = [(f"store{number}", None) for number in range(brokers)]
    return load.from_shape(shape, shapes.names(count), stores, program)


def degrees(network: Network) -> Counter[int]:
    """How many routers have so many neighbours."""
    return Counter(len(neighbours) for neighbours in network.plan.mesh_graph().values())


@given(COUNTS)
def test_a_line_has_two_ends(count: int) -> None:
    wanted = {1: {0: 1}, 2: {1: 2}}.get(count, {1: 2, 2: count - 2})
    assert degrees(made("line", count)) == wanted


@given(COUNTS)
def test_a_ring_has_none(count: int) -> None:
    """Of one or two routers there is no ring to close."""
    assert degrees(made("ring", count)) == {1: {0: 1}, 2: {1: 2}}.get(count, {2: count})


@given(COUNTS)
def test_a_star_has_one_hub(count: int) -> None:
    found = made("star", count)
    assert len(found.plan.mesh_graph()["A" if count <= 26 else "R01"]) == count - 1
    assert sum(degrees(found).elements()) == 2 * (count - 1)


@given(COUNTS)
def test_in_a_complete_one_each_has_all_others(count: int) -> None:
    assert degrees(made("complete", count)) == {count - 1: count}


@given(COUNTS)
def test_a_tree_has_two_below_each(count: int) -> None:
    """And so no way is longer than down and up the depth of the tree."""
    found = made("tree", count).plan.mesh_graph()
    assert sum(len(neighbours) for neighbours in found.values()) == 2 * (count - 1)
    assert max(len(neighbours) for neighbours in found.values()) <= 3
    depth = count.bit_length() - 1
    assert max(graph.costs(found, next(iter(found))).values()) == depth


@given(SHAPES, COUNTS, PROGRAMS, st.integers(0, 3))
def test_all_parts_are_connected_and_agree(shape: str, count: int, program: str, brokers: int) -> None:
    """Each connector meets one listener of its role at its host and port, and no port is there twice."""
    plan = made(shape, count, program, brokers).plan
    assert len(graph.components(plan.graph())) == 1
    listening = [
        (router.address, listener.port, listener.role, router.id)
        for router in plan.routers.values()
        for listener in router.listeners
    ]
    listening += [
        (broker.address, broker.port, "route-container", broker.name) for broker in plan.brokers.values()
    ]
    places = [place[:2] for place in listening]
    assert len(places) == len({*places})
    for router in plan.routers.values():
        for connector in router.connectors:
            assert (connector.host, connector.port, connector.role, connector.to) in listening
            assert connector.to != router.id
        assert len({connector.name for connector in router.connectors}) == len(router.connectors)


@settings(max_examples=40)
@given(SHAPES, COUNTS, PROGRAMS, st.integers(0, 3))
def test_its_config_is_right(shape: str, count: int, program: str, brokers: int) -> None:
    """`inflight check` takes it, every link is expected, and every router sends and receives."""
    network = made(shape, count, program, brokers)
    text = outputs.files(network)["inflight.yaml"]
    config = config_load.parse(text, "inflight.yaml")
    (mesh,) = config.meshes.values()
    wanted = {frozenset(pair) for pair in shapes.SHAPES[shape](shapes.names(count))}
    assert {frozenset(link.split("--")) for link in mesh.expect} == wanted
    routers = {*shapes.names(count)}
    assert {path.source for path in config.paths.values()} == routers
    assert {end for path in config.paths.values() for end in path.to} == routers
    assert {path.via for path in config.paths.values()} - {None} == {f"store{n}" for n in range(brokers)}


@pytest.mark.parametrize(
    ("shape", "count", "across"),
    [("ring", 5, {"A-C"}), ("ring", 3, set()), ("line", 4, set()), ("tree", 7, {"D-F"}), ("star", 4, set())],
)
def test_one_path_goes_right_across(shape: str, count: int, across: set[str]) -> None:
    """Beside those from each router to the next one; in a line the last one sends to the first anyway."""
    names = shapes.names(count)
    config = config_load.parse(outputs.files(made(shape, count))["inflight.yaml"], "inflight.yaml")
    assert {*config.paths} - {f"{names[n - 1]}-{name}" for n, name in enumerate(names)} == across


@settings(max_examples=20)
@given(SHAPES, COUNTS)
def test_the_written_topology_makes_the_same_again(shape: str, count: int) -> None:
    network = made(shape, count, brokers=1)
    files = outputs.files(network)
    again = load.made(network.document, load.Source("again"))
    assert outputs.files(again) == files


@pytest.mark.parametrize(
    ("shape", "nodes", "links"),
    [("line", 3, 4), ("ring", 0, 0), ("star", 1, 4), ("complete", 0, 0), ("tree", 2, 4)],
)
def test_what_a_network_hangs_on(shape: str, nodes: int, links: int) -> None:
    """Of five routers: those whose loss cuts others off, and the links that are the only way."""
    mesh = made(shape, 5).plan.mesh_graph()
    assert (len([*graph.cut_nodes(mesh)]), len([*graph.cut_links(mesh)])) == (nodes, links)


def test_the_cheapest_way_goes_round() -> None:
    """Over two links of 1 rather than one of 5."""
    found = graph.graph("ABC", [("A", "B", 1), ("B", "C", 1), ("A", "C", 5)])
    assert graph.costs(found, "A") == {"A": 0, "B": 1, "C": 2}
