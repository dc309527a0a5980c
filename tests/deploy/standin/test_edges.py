"""Edge routers: E by B in the line A - B."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

pytestmark = pytest.mark.slow

ACCEPTED, RELEASED = Delivery.ACCEPTED, Delivery.RELEASED
_D = "org.apache.qpid.dispatch."


@pytest.fixture(scope="module")
def edged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StandIn]]:
    """A - B, and two edges E and F at B."""
    directory = tmp_path_factory.mktemp("edges")
    a = StandIn(directory, "A")
    b = StandIn(directory, "B", "--connect", f"127.0.0.1:{a.port}")
    up = ("--mode", "edge", "--connect", f"127.0.0.1:{b.port},role=edge")
    routers = {"A": a, "B": b, "E": StandIn(directory, "E", *up), "F": StandIn(directory, "F", *up)}
    yield routers
    codes = [one.stop() for one in routers.values()]
    assert codes == [0] * 4


@pytest.mark.parametrize(("source", "target"), ["EA", "AE", "EF", "EB", "EE"])
def test_messages_pass_edges(
    edged: dict[str, StandIn], clients: Clients, address: str, source: str, target: str
) -> None:
    """Up, down, from edge to edge and within one: acknowledged end to end, in order."""
    receiver = clients.receiver(edged[target].port, address)
    sender = clients.sender(edged[source].port, address)
    sender.send(20)
    receiver.got(20)
    assert receiver.ids() == list(range(20))
    assert sender.settled(20) == [ACCEPTED] * 20


def test_multicast_passes_edges_without_echo(
    edged: dict[str, StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """A consumer beside the sender gets one copy, not a second one from above."""
    receivers = [clients.receiver(edged[name].port, "multicast/edges") for name in "EFAB"]
    requester(edged["B"].port).knows("M0multicast/edges", here=3, elsewhere=1)
    requester(edged["A"].port).knows("M0multicast/edges", here=1, elsewhere=1)
    told = {
        name: next(
            row for row in requester(edged[name].port).rows(f"{_D}router.address") if row["key"] == key
        )
        for name in "ABE"
        for key in ["M0multicast/edges"]
    }
    # An edge's subscribers are those of its interior router; an edge knows no other routers.
    assert {name: row["remoteHostRouters"] for name, row in told.items()} == {
        "A": ["B.stand-in"],
        "B": ["A.stand-in"],
        "E": [],
    }
    sender = clients.sender(edged["E"].port, "multicast/edges")
    sender.send(10)
    for receiver in receivers:
        receiver.got(10)
    clients.pump(0.1)
    assert [len(receiver.messages) for receiver in receivers] == [10] * 4
    assert sender.settled(10) == [ACCEPTED] * 10


def test_credit_comes_from_above_only_with_a_consumer(
    edged: dict[str, StandIn], clients: Clients, address: str
) -> None:
    """An edge's own receiver does not make the interior give credit to that edge."""
    sender = clients.sender(edged["E"].port, address)
    clients.pump(0.3)
    assert sender.link.credit == 0
    clients.receiver(edged["A"].port, address, credit=6)
    clients.wait(lambda: sender.link.credit == 6, "six credits")


def test_edges_are_reached_by_management(
    edged: dict[str, StandIn], requester: Callable[[int], Requester]
) -> None:
    """Not in GET-MGMT-NODES; B's connections of role edge name them, `_edge` reaches them through A."""
    management = requester(edged["A"].port)
    nodes = management.ask({"operation": "GET-MGMT-NODES"}).body
    assert nodes == [f"amqp:/_topo/0/{name}.stand-in/$management" for name in "AB"]
    connections = management.rows(_D + "connection", nodes[1])
    edges = sorted(row["container"] for row in connections if row["role"] == "edge")
    assert edges == ["E.stand-in", "F.stand-in"]
    for edge in edges:
        row = management.rows(_D + "router", f"amqp:/_edge/{edge}/$management")[0]
        assert (row["id"], row["mode"]) == (edge, "edge")
    assert management.rows(_D + "router.node", "amqp:/_edge/E.stand-in/$management") == []


def test_an_edges_own_client_reaches_the_interior(
    edged: dict[str, StandIn], requester: Callable[[int], Requester]
) -> None:
    """Asked at E: itself by $management, A and the other edge by their addresses."""
    management = requester(edged["E"].port)
    assert management.ask({"operation": "GET-MGMT-NODES"}).body == ["amqp:/_edge/E.stand-in/$management"]
    for node in ("amqp:/_topo/0/A.stand-in/$management", "amqp:/_edge/F.stand-in/$management"):
        assert management.rows(_D + "router", node)[0]["id"] == node.split("/")[-2]


def test_route_begins_at_the_interior_router(
    edged: dict[str, StandIn], clients: Clients, address: str
) -> None:
    """Edges are not in the trace, and tell none, as the real ones."""
    receiver = clients.receiver(edged["A"].port, address)
    clients.sender(edged["F"].port, address).send(1)
    assert receiver.got(1)[0].annotations["x-opt-qd.trace"] == ["0/B.stand-in", "0/A.stand-in"]
    receiver = clients.receiver(edged["F"].port, f"{address}/back")
    clients.sender(edged["A"].port, f"{address}/back").send(1)
    assert not receiver.got(1)[0].annotations


def test_an_edge_that_loses_its_interior_router_finds_it_again(
    standin: Callable[..., StandIn], clients: Clients
) -> None:
    """After B is back, E's consumers are served again."""
    b = standin("B")
    e = standin("E", "--mode", "edge", "--connect", f"127.0.0.1:{b.port},role=edge")
    receiver = clients.receiver(e.port, "closest/again")
    clients.sender(e.port, "closest/again").send(1)
    receiver.got(1)
    b.tell(do="die")
    b.process.wait(5)
    b.start()
    clients.connections.pop(b.port, None)
    sender = clients.sender(b.port, "closest/again")
    sender.send(5)
    receiver.got(6)
    assert sender.settled(5) == [ACCEPTED] * 5
