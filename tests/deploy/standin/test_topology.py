from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deploy.standin.routing.topology import Advert, Topology


def _line(me: str) -> Topology:
    topology = Topology(me)
    topology.learn(Advert("A", 1, 1, {"B": 1}, consumers=("M0x",)))
    topology.learn(Advert("B", 1, 1, {"A": 1, "C": 1}))
    topology.learn(Advert("C", 1, 1, {"B": 1}, consumers=("M0x", "M0m"), edges=("E",)))
    return topology


def test_line_has_costs_and_next_hops() -> None:
    """In A - B - C, C is two away from A, by way of B."""
    a = _line("A")
    assert a.routers() == ["A", "B", "C"]
    assert a.tree("A").costs == {"A": 0, "B": 1, "C": 2}
    assert a.next_hop("A", "C") == "B"
    assert a.consumers("M0x") == {"C": 2}
    assert _line("B").consumers("M0x") == {"A": 1, "C": 1}


def test_valid_origins_are_those_whose_messages_pass_here() -> None:
    """As in the captured line: at B, C is reached from A, and A from C; at A nothing passes."""
    assert _line("B").valid_origins("C") == ["A"]
    assert _line("B").valid_origins("A") == ["C"]
    assert _line("A").valid_origins("C") == []


def test_multicast_goes_down_the_origins_tree_to_where_consumers_are() -> None:
    """From A, B passes a message on to C, and nothing goes back."""
    assert _line("A").branches("A", "M0m") == {"B"}
    assert _line("B").branches("A", "M0m") == {"C"}
    assert _line("B").branches("C", "M0x") == {"A"}
    assert _line("B").branches("A", "M0none") == set()


def test_a_link_counts_only_when_both_ends_tell_of_it() -> None:
    """After B says that C is gone, C's last word does not bring it back."""
    topology = _line("A")
    topology.learn(Advert("B", 1, 2, {"A": 1}))
    assert topology.routers() == ["A", "B"]
    assert topology.consumers("M0m") == {}
    assert topology.edge_home("E") is None


def test_old_news_is_refused_and_a_reborn_router_believed() -> None:
    """The order is (boot, sequence), so a restart with sequence 1 is newer than a long life."""
    topology = Topology("A")
    assert topology.learn(Advert("B", boot_ns=5, sequence=9))
    assert not topology.learn(Advert("B", boot_ns=5, sequence=9))
    assert not topology.learn(Advert("B", boot_ns=4, sequence=99))
    assert topology.learn(Advert("B", boot_ns=6, sequence=1))


def test_index_of_a_router_never_changes() -> None:
    """Histograms are by index: a router that comes back has the one it had."""
    topology = _line("A")
    topology.learn(Advert("B", 2, 1, {}))
    topology.learn(Advert("D", 1, 1, {}))
    topology.learn(Advert("B", 3, 1, {"A": 1}))
    assert topology.indexes == {"A": 0, "B": 1, "C": 2, "D": 3}


def test_advert_survives_json() -> None:
    """What is sent is what is learned."""
    advert = Advert("C", 7, 3, {"B": 2}, ("M0x",), ("E",), ("orders",))
    assert Advert.from_json(advert.to_json()) == advert


_edges = st.dictionaries(
    st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("ABCDEF")),
    st.integers(1, 5),
    min_size=3,
    max_size=12,
)


def _meshes(edges: dict[tuple[str, str], int]) -> dict[str, Topology]:
    neighbours: dict[str, dict[str, int]] = {name: {} for name in "ABCDEF"}
    for (one, other), cost in edges.items():
        if one != other:
            neighbours[one][other] = neighbours[other][one] = cost
    meshes = {name: Topology(name) for name in neighbours}
    for mesh in meshes.values():
        for name, known in neighbours.items():
            mesh.learn(Advert(name, 1, 1, known, consumers=("M0m",)))
    return meshes


@given(_edges)
def test_following_next_hops_arrives_without_loops(edges: dict[tuple[str, str], int]) -> None:
    """Whatever the mesh, each router's own view leads a message on until it is there."""
    meshes = _meshes(edges)
    for origin, mesh in meshes.items():
        for target in mesh.routers()[1:]:
            here, steps = origin, 0
            while here != target:
                hop = meshes[here].next_hop(origin, target)
                assert hop is not None
                here, steps = hop, steps + 1
                assert steps < len(meshes)


@given(_edges)
def test_multicast_reaches_everybody_exactly_once(edges: dict[tuple[str, str], int]) -> None:
    """The branches of all routers make one tree: no router left out, none visited twice."""
    meshes = _meshes(edges)
    for origin, mesh in meshes.items():
        visited, waiting = [origin], [origin]
        while waiting:
            hops = meshes[waiting.pop()].branches(origin, "M0m")
            visited += hops
            waiting += hops
        assert sorted(visited) == sorted(mesh.routers())
