"""The route through a mesh, by what each router told of the ways from it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from deploy.trace.route import MAX_ROUTERS, Hop, Route, Told, Way, find


def told_of(way: dict[str, tuple[str | None, int]], **more: object) -> Told:
    """A router's word: target -> (next hop, None for a neighbour; cost)."""
    return Told({target: Way(*value) for target, value in way.items()}, **more)  # type: ignore[arg-type]


def line(*names: str, receivers: str, heard_at: str) -> dict[str, Told]:
    """Routers in a row, each link of cost 1; `heard_at` knows where there are receivers."""
    told = {}
    for place, name in enumerate(names):
        ways = {}
        for other_place, other in enumerate(names):
            if other != name:
                distance = abs(other_place - place)
                step = names[place + (1 if other_place > place else -1)]
                ways[other] = (None if distance == 1 else step, distance)
        hosts = (receivers,) if name == heard_at else ()
        told[name] = told_of(ways, hosts=hosts, receivers=name == receivers)
    return told


def ring(*, hosts: tuple[str, ...]) -> dict[str, Told]:
    """A - B - C - D - A; all ways across go through B or A, as the routers chose them."""
    return {
        "A": told_of({"B": (None, 1), "D": (None, 1), "C": ("B", 2)}, hosts=hosts),
        "B": told_of({"A": (None, 1), "C": (None, 1), "D": ("A", 2)}),
        "C": told_of({"B": (None, 1), "D": (None, 1), "A": ("B", 2)}, receivers="C" in hosts),
        "D": told_of({"A": (None, 1), "C": (None, 1), "B": ("A", 2)}, receivers="D" in hosts),
    }


def shape(route: Route) -> list[tuple[str, str | None]]:
    return [(hop.router, hop.before) for hop in route.hops]


def hop(route: Route, router: str) -> Hop:
    return next(hop for hop in route.hops if hop.router == router)


def test_a_line() -> None:
    """Every router between, in the order of the way, and what it costs to come there."""
    route = find("A", line("A", "B", "C", "D", receivers="D", heard_at="A"))
    assert shape(route) == [("A", None), ("B", "A"), ("C", "B"), ("D", "C")]
    assert [hop.cost for hop in route.hops] == [0, 1, 2, 3]
    assert route.targets == ["D"]
    assert [hop.branch for hop in route.hops] == [""] * 4


def test_a_ring_with_another_way_of_the_same_cost() -> None:
    """Messages take the next hop that was told; the other way is a branch that is marked."""
    route = find("A", ring(hosts=("C",)))
    assert shape(route) == [("A", None), ("B", "A"), ("C", "B"), ("D", "A")]
    assert [hop.equal for hop in route.hops] == [False, False, False, True]
    assert [hop.branch for hop in route.hops] == ["", "├ ", "│ ", "└ "]
    assert route.targets == ["C"]


def test_a_way_that_costs_more_is_no_part_of_it() -> None:
    """Only routers that lie on a way of the least cost."""
    route = find("A", ring(hosts=("B",)))
    assert shape(route) == [("A", None), ("B", "A")]


def test_two_receivers() -> None:
    """Two ways that part: branches, the nearer one first."""
    told = line("A", "B", "C", receivers="C", heard_at="A")
    told["B"] = told_of({"A": (None, 1), "C": (None, 1), "X": (None, 3)})
    ways = {**told["A"].ways, "X": Way("B", 4)}
    told["A"] = Told(ways, hosts=("C", "X"))
    told["X"] = told_of({"B": (None, 3)}, receivers=True)
    route = find("A", told)
    assert shape(route) == [("A", None), ("B", "A"), ("C", "B"), ("X", "B")]
    assert route.targets == ["C", "X"]
    assert [hop.branch for hop in route.hops] == ["", "", "├ ", "└ "]


def test_receivers_at_an_edge() -> None:
    """Behind their interior router, which is no target itself unless it has others."""
    told = line("A", "B", receivers="-", heard_at="-")
    told["A"] = Told(told["A"].ways, hosts=("B",))
    told["B"] = Told(told["B"].ways, edges=("E", "F"))
    route = find("A", told)
    assert shape(route) == [("A", None), ("B", "A"), ("E", "B"), ("F", "B")]
    assert route.targets == ["E", "F"]
    told["B"] = Told(told["B"].ways, edges=("E",), receivers=True)
    assert find("A", told).targets == ["B", "E"]


def test_from_an_edge() -> None:
    """First the interior router that it is connected to, whose word on receivers counts."""
    told = line("A", "B", receivers="A", heard_at="B")
    told["E"] = Told(up=("B",))
    route = find("E", told, edge=True)
    assert shape(route) == [("E", None), ("B", "E"), ("A", "B")]
    assert route.targets == ["A"]
    assert shape(find("E", {"E": Told()}, edge=True)) == [("E", None)]
    assert find("E", {"E": Told(receivers=True)}, edge=True).targets == ["E"]


def test_receivers_at_the_router_one_is_connected_to() -> None:
    route = find("A", {"A": Told(receivers=True)})
    assert (shape(route), route.targets) == ([("A", None)], ["A"])


def test_nobody_receives() -> None:
    assert find("A", line("A", "B", receivers="-", heard_at="-")).targets == []


def test_a_router_that_does_not_tell() -> None:
    """What is behind it is known, how one comes there is not: that is said."""
    told = line("A", "B", "C", "D", receivers="D", heard_at="A")
    del told["B"]
    route = find("A", told)
    assert shape(route) == [("A", None), ("B", "A"), ("D", "B")]
    assert (hop(route, "B").sure, hop(route, "D").sure) == (True, False)


def test_a_router_without_a_way_on() -> None:
    """It is told by name: messages end there."""
    told = line("A", "B", "C", receivers="C", heard_at="A")
    told["B"] = told_of({"A": (None, 1)})
    route = find("A", told)
    assert route.no_way == ["C"]
    assert route.targets == []


def test_routers_that_do_not_agree_yet() -> None:
    """Next hops that lead in a circle are no way, and do not hang it."""
    told = {
        "A": told_of({"B": (None, 1), "C": ("B", 2)}, hosts=("C",)),
        "B": told_of({"A": (None, 1), "C": ("A", 2)}),
    }
    assert find("A", told).no_way == ["C"]


@pytest.mark.parametrize("start", ["A", "B"])
def test_the_whole_mesh(start: str) -> None:
    """All routers, each behind the one by which it is reached; none is a target of its own."""
    told = ring(hosts=())
    told["C"] = Told(told["C"].ways, edges=("E",))
    route = find(start, told, everywhere=True)
    assert {hop.router for hop in route.hops} == {"A", "B", "C", "D", "E"}
    ways = {
        "A": [("A", None), ("B", "A"), ("C", "B"), ("E", "C"), ("D", "A")],
        "B": [("B", None), ("A", "B"), ("D", "A"), ("C", "B"), ("E", "C")],
    }
    assert shape(route) == ways[start]


def test_a_mesh_that_is_too_large() -> None:
    """The nearest ones are looked at, and how many are left out is told."""
    names = [f"R{number:03}" for number in range(MAX_ROUTERS + 20)]
    route = find("R000", line(*names, receivers="-", heard_at="-"), everywhere=True)
    assert [hop.router for hop in route.hops] == names[:MAX_ROUTERS]
    assert all(after.before == hop.router for hop, after in pairwise(route.hops))
    assert route.left_out == 20
