"""The mesh as a graph."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay import Replay, look

from collectors.router import address_names
from collectors.router import topology as router_topology
from collectors.router.topology import REMEMBER_NS, Graph, Topology, pair


def snapshots(flavour: str = "qdrouterd", leave_out: str = "") -> dict[str, Any]:
    replay = Replay(flavour)
    return {router: look(replay, router) for router in replay.routers if router != leave_out}


def up(graph: Graph) -> dict[str, bool]:
    return {edge.pair.id: edge.up for edge in graph.edges}


@pytest.mark.parametrize(("flavour", "name"), [("qdrouterd", "QDR"), ("skrouterd", "SK")])
def test_links_and_costs(flavour: str, name: str) -> None:
    """A - B - C, and E an edge of B; a node's cost is that of the path, so only neighbours tell a link's."""
    graph = Topology().feed(snapshots(flavour), [], 0)
    assert [(edge.pair.id, edge.up, edge.cost) for edge in graph.edges] == [
        (f"{name}.A--{name}.B", True, 1),
        (f"{name}.B--{name}.C", True, 1),
        (f"{name}.B--{name}.E", True, None),
    ]
    assert set(graph.routers.values()) == {True}


def test_a_link_that_went_is_down_and_later_forgotten() -> None:
    """It does not vanish at once: an alert needs something to fire on."""
    topology, every = Topology(), snapshots()
    topology.feed(every, [], 0)
    for router in ("QDR.A", "QDR.B"):
        for row in every[router].rows("node"):
            row["neighbours"] = [
                n for n in row["neighbours"] if n != {"QDR.A": "QDR.B", "QDR.B": "QDR.A"}.get(row["id"])
            ]
    assert up(topology.feed(every, [], 1))["QDR.A--QDR.B"] is False
    assert "QDR.A--QDR.B" not in up(topology.feed(every, [], REMEMBER_NS + 1))


def test_links_are_known_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A router that tells of other neighbours in each poll makes no more of them; what is known stays."""
    monkeypatch.setattr(router_topology, "MAX_EDGES", 10)
    topology, every = Topology(), snapshots()
    before = up(topology.feed(every, [], 0))
    (own,) = [row for row in every["QDR.C"].rows("node") if row["id"] == "QDR.C"]
    for poll in range(20):
        own["neighbours"] = ["QDR.B", *(f"made.{poll}.{n}" for n in range(5))]
        graph = up(topology.feed(every, [], poll))
        assert len(graph) <= 10
        assert before.items() <= graph.items()


def test_both_ends_must_see_a_link_unless_one_did_not_answer() -> None:
    """One-sided words of a router that is up are not enough; of one whose neighbour is down they are."""
    topology = Topology()
    every = snapshots()
    for row in every["QDR.A"].rows("node"):
        row["neighbours"] = []
    assert "QDR.A--QDR.B" not in up(topology.feed(every, [], 0))
    graph = Topology().feed(snapshots(leave_out="QDR.A"), ["QDR.A"], 0)
    assert up(graph)["QDR.A--QDR.B"] is True
    assert graph.routers["QDR.A"] is False


def test_differences_from_what_is_expected() -> None:
    """Missing and unexpected routers and links; edges may be missed but are never unexpected."""
    graph = Topology(["QDR.B--QDR.A", "QDR.A--QDR.X"]).feed(snapshots(), [], 0)
    found = graph.differences
    assert found.missing_router == ("QDR.X",)
    assert found.unexpected_router == ("QDR.C",)
    assert found.missing_link == ("QDR.A--QDR.X",)
    assert found.unexpected_link == ("QDR.B--QDR.C",)
    assert up(graph)["QDR.A--QDR.X"] is False
    assert Topology(["QDR.E--QDR.B"]).feed(
        snapshots(leave_out="QDR.E"), [], 0
    ).differences.missing_router == ("QDR.E",)
    assert Topology().feed(snapshots(), [], 0).differences.unexpected_link == ()


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_pair_has_no_direction(one: str, other: str) -> None:
    """Whichever end is asked first."""
    assert pair(one, other) == pair(other, one)


@pytest.mark.parametrize(
    ("key", "flavour", "name", "readable"),
    [
        ("M0orders", "dispatch", "orders", "orders"),
        ("M1auto.q", "dispatch", "auto.q", "auto.q"),
        ("M0123", "dispatch", "123", "123"),
        ("Morders", "skupper", "orders", "orders"),
        ("M0rders", "skupper", "0rders", "0rders"),
        ("M0$management", "dispatch", None, "$management (router's own)"),
        ("Mmc/sfe.all", "skupper", None, "mc/sfe.all (router's own)"),
        ("L$management", "dispatch", None, "$management (local)"),
        ("Tqdrouter", "skupper", None, "qdrouter (all routers)"),
        ("RQDR.B", "dispatch", None, "QDR.B (router)"),
        ("HSK.E", "skupper", None, "SK.E (edge router)"),
        ("?x", "skupper", None, "?x"),
    ],
)
def test_addresses_made_readable(key: str, flavour: Any, name: str | None, readable: str) -> None:
    """Applications' addresses by their own names, and internal ones told apart."""
    assert address_names.mobile(key, flavour) == name
    assert address_names.readable(key, flavour) == readable
