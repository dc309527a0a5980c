"""What a router's rows say of its surroundings."""

from __future__ import annotations

import pytest
from replay import Replay, look

from collectors.router.schema import FLAVOURS, FlavourName
from deploy.trace.facts import Facts, Waiting

NAMES: dict[FlavourName, tuple[str, str]] = {"dispatch": ("qdrouterd", "QDR"), "skupper": ("skrouterd", "SK")}
each = pytest.mark.parametrize("flavour", NAMES)


def facts(flavour: FlavourName, router: str, address: str | None) -> Facts:
    """Of the captures, with the row of the address as a READ tells it."""
    program, prefix = NAMES[flavour]
    replay = Replay(program)
    snapshot = look(replay, f"{prefix}.{router}")
    found = Facts(nodes=snapshot.rows("node"), connections=snapshot.rows("connection"))
    if address is not None:
        key = f"M0{address}" if flavour == "dispatch" else f"M{address}"
        rows = {row["key"]: row for row in replay.rows(f"{prefix}.{router}", "router.address")}
        if key in rows:
            found.address = {
                "local": rows[key]["subscriberCount"],
                "in_process": rows[key]["inProcess"],
                "hosts": rows[key]["remoteHostRouters"],
            }
    found.tell_links(snapshot.rows("link"), address, FLAVOURS[flavour])
    return found


@each
def test_an_edge_that_only_sends_receives_nothing(flavour: FlavourName) -> None:
    """Its router counts one receiver, which is its own link to the interior; and it has no ways to tell."""
    told = facts(flavour, "E", "closest/p2").told("closest/p2", FLAVOURS[flavour])
    assert not told.receivers
    assert told.up == (f"{NAMES[flavour][1]}.B",)
    assert told.ways == {}


@each
def test_receivers_links_and_ways(flavour: FlavourName) -> None:
    """Of C: one receiver without credit, for whom 30 wait; B is its neighbour, A is behind it."""
    prefix = NAMES[flavour][1]
    found = facts(flavour, "C", "closest/p2")
    assert found.receivers("closest/p2", FLAVOURS[flavour]) == Waiting(1, 30, 0)
    assert found.towards(f"{prefix}.B", "closest/p2", FLAVOURS[flavour]) == Waiting(10, 0, 250)
    assert found.towards(f"{prefix}.A", "closest/p2", FLAVOURS[flavour]) is None
    told = found.told("closest/p2", FLAVOURS[flavour])
    assert (told.receivers, told.hosts, told.edges) == (True, (), ())
    assert {name: (way.next_hop, way.cost) for name, way in told.ways.items()} == {
        f"{prefix}.B": (None, 1),
        f"{prefix}.A": (f"{prefix}.B", 2),
    }


@each
def test_the_edges_of_a_router(flavour: FlavourName) -> None:
    """All of them for the whole mesh, for an address those that it goes to."""
    edge = (f"{NAMES[flavour][1]}.E",)
    assert facts(flavour, "B", None).told(None, FLAVOURS[flavour]).edges == edge
    assert facts(flavour, "B", "closest/p2").told("closest/p2", FLAVOURS[flavour]).edges == ()


def test_links_beyond_those_that_were_looked_at() -> None:
    """A receiver that its router counts is one, though its link is not among them."""
    found = facts("dispatch", "C", "closest/p2")
    found.links = []
    assert found.told("closest/p2", FLAVOURS["dispatch"]).receivers


def test_the_connection_that_an_edge_uses() -> None:
    """Of two that are open, the one that has the link for all addresses."""
    found = facts("dispatch", "E", None)
    (row,) = [row for row in found.connections if row["role"] == "edge"]
    found.connections.append(row | {"identity": "99", "container": "QDR.AA"})
    assert found.told(None, FLAVOURS["dispatch"]).up == ("QDR.B",)
