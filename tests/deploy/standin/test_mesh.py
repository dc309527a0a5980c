"""Routers that come, go, and meet in more than one way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

pytestmark = pytest.mark.slow

ACCEPTED, RELEASED, MODIFIED = Delivery.ACCEPTED, Delivery.RELEASED, Delivery.MODIFIED


def _to(*others: StandIn) -> list[str]:
    return [option for other in others for option in ("--connect", f"127.0.0.1:{other.port}")]


def _nodes(management: Requester) -> list[str]:
    return [node.split("/")[3][0] for node in management.ask({"operation": "GET-MGMT-NODES"}).body]


def test_router_in_the_middle_dies_and_comes_back(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """What was under way comes back modified; credit is gone while it is; then all is as before."""
    a = standin("A")
    b = standin("B", *_to(a))
    c = standin("C", *_to(b))
    receiver = clients.receiver(c.port, "closest/x", outcome=None)
    sender = clients.sender(a.port, "closest/x")
    sender.send(5)
    receiver.got(5)
    management = requester(a.port)
    before = {r["id"]: r["instance"] for r in management.rows("org.apache.qpid.dispatch.router.node")}
    b.tell(do="die")
    assert sender.settled(5) == [MODIFIED] * 5
    clients.wait(lambda: _nodes(management) == ["A"], "A alone")
    receiver.outcome = ACCEPTED
    b.process.wait(5)
    clients.pump(1.1)  # an instance is told in whole seconds
    b.start()
    clients.wait(lambda: _nodes(management) == ["A", "B", "C"], "all three", 10)
    clients.wait(
        lambda: any(
            row["key"] == "M0closest/x" and row["remoteCount"] == 1
            for row in management.rows("org.apache.qpid.dispatch.router.address")
        ),
        "the consumer's address",
    )
    sender.send(5)
    assert sender.settled(10)[5:] == [ACCEPTED] * 5
    after = {r["id"]: r["instance"] for r in management.rows("org.apache.qpid.dispatch.router.node")}
    assert after["B.stand-in"] > before["B.stand-in"]
    assert after["C.stand-in"] == before["C.stand-in"]


def test_messages_after_the_break_are_released(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """A sender with credit left finds no consumer any more: released, not lost."""
    a = standin("A")
    b = standin("B", *_to(a))
    clients.receiver(b.port, "closest/x")
    sender = clients.sender(a.port, "closest/x")
    clients.wait(lambda: sender.link.credit > 0, "credit")
    b.tell(do="die")
    management = requester(a.port)
    clients.wait(lambda: _nodes(management) == ["A"], "A alone")
    sender.send(3)
    assert sender.settled(3) == [RELEASED] * 3


def test_a_ring_delivers_multicast_once_and_survives_a_break(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """Two ways around: no doubles; when one is cut, the other is taken."""
    a = standin("A")
    b = standin("B", *_to(a))
    c = standin("C", *_to(a, b))
    receivers = [clients.receiver(one.port, "multicast/ring") for one in (a, b, c)]
    unicast = clients.receiver(c.port, "closest/ring")
    management = requester(a.port)
    clients.wait(
        lambda: (
            [len(r["linkState"]) for r in management.rows("org.apache.qpid.dispatch.router.node")]
            == [2, 2, 2]
        ),
        "the ring",
    )
    management.knows("M0multicast/ring", here=1, elsewhere=2)
    sender = clients.sender(a.port, "multicast/ring")
    sender.send(10)
    for receiver in receivers:
        receiver.got(10)
    clients.pump(0.1)
    assert [len(receiver.messages) for receiver in receivers] == [10, 10, 10]
    b.tell(do="die")
    clients.wait(lambda: _nodes(management) == ["A", "C"], "A and C")
    straight = clients.sender(a.port, "closest/ring")
    straight.send(5)
    assert straight.settled(5) == [ACCEPTED] * 5
    assert len(unicast.messages) == 5


def test_cost_decides_the_way(
    standin: Callable[..., StandIn], clients: Clients, requester: Callable[[int], Requester]
) -> None:
    """The dear direct link is left alone for two cheap ones."""
    a = standin("A")
    b = standin("B", *_to(a))
    c = standin("C", *_to(b), "--connect", f"127.0.0.1:{a.port},cost=5")
    receiver = clients.receiver(c.port, "closest/way")
    management = requester(a.port)
    clients.wait(
        lambda: (
            {r["id"]: r["cost"] for r in management.rows("org.apache.qpid.dispatch.router.node")}
            == {"A.stand-in": None, "B.stand-in": 1, "C.stand-in": 2}
        ),
        "costs",
    )
    clients.sender(a.port, "closest/way").send(1)
    trace = receiver.got(1)[0].annotations["x-opt-qd.trace"]
    assert trace == ["0/A.stand-in", "0/B.stand-in", "0/C.stand-in"]


def test_end_is_clean_and_quick(standin: Callable[..., StandIn], clients: Clients) -> None:
    """SIGTERM ends it with code 0, even in the middle of traffic."""
    a = standin("A")
    clients.receiver(a.port, "closest/x", outcome=None)
    clients.sender(a.port, "closest/x").send(5)
    assert a.stop() == 0
    assert "Traceback" not in a.log()


def test_a_port_in_use_is_told_in_one_line(standin: Callable[..., StandIn]) -> None:
    """Exit code 2, what failed, and what to change."""
    a = standin("A")
    command = [sys.executable, "-m", "deploy.standin", "--name", "B", "--listen", f"127.0.0.1:{a.port}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert "stand-in B.stand-in cannot listen" in done.stderr
    assert "choose another --listen" in done.stderr
    assert "Traceback" not in done.stderr
