"""Redundancy: the cheapest way is taken, a dearer one where that is broken, the cheaper one when it is whole.

Two ways from A to D: by B, at a cost of 2, and by C, at a cost of 6; E is an edge by A. The same from the
stand-in and from qdrouterd.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import proton
import pytest
from link_routed import LOST, Routed, running_routed
from proton import Delivery, Message
from raw_links import End

pytestmark = pytest.mark.slow

_WHOLE_SECONDS = 60.0
_BY_B, _BY_C = ["A", "B", "D"], ["A", "C", "D"]
_DIAMOND: dict[str, Any] = {
    "version": 1,
    "routers": {"A": {}, "B": {}, "C": {}, "D": {}, "E": {"mode": "edge"}},
    "brokers": {"store": {}},
    "links": [
        {"from": "B", "to": "A"},
        {"from": "D", "to": "B"},
        {"from": "C", "to": "A", "cost": 3},
        {"from": "D", "to": "C", "cost": 3},
        {"from": "E", "to": "A"},
        {"from": "D", "to": "store", "link_routes": ["lr"]},
    ],
}
_RING: dict[str, Any] = {
    "version": 1,
    "routers": {name: {} for name in "ABCDE"},
    "links": [{"from": other, "to": one} for one, other in ("AB", "BC", "CD", "DE", "EA")],
}


@pytest.fixture(scope="module", params=["stand-in", "qdrouterd"])
def diamond(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    led = (("A", "lr.q", "store"), ("E", "lr.q", "store"))
    with running_routed(request.param, tmp_path_factory.mktemp("diamond"), _DIAMOND, led) as made:
        yield made


class Stream:
    """Numbered messages, each as soon as there is credit, on their way from one router to another."""

    def __init__(self, mesh: Routed, source: str, target: str, address: str, *, presettled: bool) -> None:
        self._wires = mesh.wires
        self._presettled = presettled
        self.receiver = mesh.wires.receiver(mesh.wires.client(mesh.port(target)), address, f"{address}-in")
        self.receiver.link.flow(10_000)
        self.sender = mesh.wires.sender(mesh.wires.client(mesh.port(source)), address, f"{address}-out")
        self.sent: list[proton.Delivery] = []

    def send(self) -> None:
        self._wires.wait(lambda: self.sender.link.credit > 0, "credit", _WHOLE_SECONDS)
        number = len(self.sent)
        delivery = self.sender.link.delivery(f"{number}")
        self.sender.link.send(Message(body=number).encode())
        self.sender.link.advance()
        self.sent.append(delivery)
        if self._presettled:
            delivery.settle()

    def way(self) -> list[str] | None:
        """The route of the last message that has come."""
        self._settle()
        if not self.receiver.bodies:
            return None
        message = Message()
        message.decode(self.receiver.bodies[-1])
        trace = (message.annotations or {}).get("x-opt-qd.trace", [])
        return [step.split("/")[1].split(".")[0] for step in trace]

    def _settle(self) -> None:
        for delivery in self.receiver.deliveries:
            if not delivery.settled:
                delivery.update(Delivery.ACCEPTED)
            delivery.settle()
        self.receiver.deliveries.clear()

    def until(self, way: list[str]) -> None:
        """Send, until messages go that way."""

        def taken() -> bool:
            self.send()
            self._wires.pump(0.02)
            return self.way() == way

        self._wires.wait(taken, f"way by {way}", _WHOLE_SECONDS)

    def send_during(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.02)):
            self.send()
            self._wires.pump(0.02)
            self._settle()

    def numbers(self) -> list[int]:
        """Of what has come."""
        found = []
        for body in self.receiver.bodies:
            message = Message()
            message.decode(body)
            found.append(int(message.body))
        return found

    def outcomes(self) -> list[str]:
        """Of each message that was sent, once all are told."""

        def told() -> bool:
            self._settle()
            return all(delivery.remote_state for delivery in self.sent)

        self._wires.wait(told, "all outcomes", _WHOLE_SECONDS)
        return [str(getattr(delivery.remote_state, "name", delivery.remote_state)) for delivery in self.sent]


@pytest.mark.parametrize("source", ["A", "E"])
def test_acknowledged_messages_go_round(diamond: Routed, source: str) -> None:
    """None is lost in silence: what was on the broken way is not accepted, and its sender knows it."""
    stream = Stream(diamond, source, "D", f"closest/known-{source}", presettled=False)
    stream.until(_BY_B)
    stream.send_during(0.5)
    diamond.routers["B"].kill()
    stream.until(_BY_C)
    diamond.routers["B"].start()
    stream.until(_BY_B)
    outcomes = stream.outcomes()
    came = stream.numbers()
    assert len(came) == len({*came})
    accepted = {number for number, outcome in enumerate(outcomes) if outcome == "ACCEPTED"}
    assert accepted <= {*came}
    assert {*outcomes} <= {"ACCEPTED", "MODIFIED", "RELEASED"}
    assert came == sorted(came)


def test_presettled_messages_go_round(diamond: Routed) -> None:
    """Some of those on the broken way are lost, in one piece; later ones come, in order."""
    stream = Stream(diamond, "A", "D", "closest/unknown", presettled=True)
    stream.until(_BY_B)
    stream.send_during(0.5)
    diamond.routers["B"].kill()
    stream.until(_BY_C)
    gone_at = len(stream.sent)
    diamond.routers["B"].start()
    stream.until(_BY_B)
    came = stream.numbers()
    assert came == sorted({*came})
    lost_before = [number for number in range(gone_at) if number not in came]
    assert lost_before == [*range(lost_before[0], lost_before[-1] + 1)] if lost_before else True


def test_a_router_that_hangs_is_passed_by(diamond: Routed) -> None:
    """Its connections stay; the others hear nothing of it, and go round. What was under way comes late."""
    stream = Stream(diamond, "A", "D", "closest/hanging", presettled=True)
    stream.until(_BY_B)
    diamond.routers["B"].pause()
    try:
        stream.until(_BY_C)
    finally:
        diamond.routers["B"].resume()
    stream.until(_BY_B)
    assert len(stream.numbers()) == len({*stream.numbers()})


def routers_passed(mesh: Routed, name: str) -> set[str]:
    """The routers in the middle that have a routed link of that name."""
    return {
        router for router in "BC" if any(row["linkName"].startswith(name) for row in mesh.routed_rows(router))
    }


def new_link_passes(mesh: Routed, client: End, router: str) -> bool:
    near = mesh.answered(client, "lr.q")
    found = routers_passed(mesh, near.link.name)
    near.link.close()
    return found == {router}


@pytest.mark.parametrize("source", ["A", "E"])
def test_routed_links_go_round(diamond: Routed, source: str) -> None:
    """One that is on the broken way is lost; the next goes the dearer way, and stays there when B is back."""
    client = diamond.wires.client(diamond.port(source))
    diamond.wait_led(client, "lr.q", "store")
    diamond.wait_for(lambda: new_link_passes(diamond, client, "B"))
    near, _ = diamond.sender(client, "lr.q")
    diamond.routers["B"].kill()
    diamond.wires.wait(lambda: near.ended, "the end of the link", _WHOLE_SECONDS)
    assert near.ended == ("close", LOST)
    diamond.wait_led(client, "lr.q", "store")
    near, far = diamond.sender(client, "lr.q")
    far.link.flow(1)
    diamond.wires.wait(lambda: near.link.credit == 1, "credit")
    diamond.routers["B"].start()
    diamond.wait_for(lambda: new_link_passes(diamond, client, "B"))
    assert near.ended is None
    near.link.delivery("1")
    near.link.send(b"by C")
    near.link.advance()
    diamond.wires.wait(lambda: far.bodies == [b"by C"], "a message the dearer way")


@pytest.mark.parametrize("program", ["stand-in", "qdrouterd"])
def test_a_ring_has_two_ways(program: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """From A to C by B; without B by the other three, and back."""
    with running_routed(program, tmp_path_factory.mktemp("ring"), _RING, ()) as ring:
        stream = Stream(ring, "A", "C", "closest/ring", presettled=False)
        stream.until(["A", "B", "C"])
        ring.routers["B"].kill()
        stream.until(["A", "E", "D", "C"])
        ring.routers["B"].start()
        stream.until(["A", "B", "C"])
