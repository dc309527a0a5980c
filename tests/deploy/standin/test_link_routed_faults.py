"""Faults of a stand-in, told to the router in the middle of a routed link."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from link_routed import Routed, running_routed
from proton import Message
from raw_links import Seen

from deploy.standin.faults import control

pytestmark = pytest.mark.slow

_LINE: dict[str, Any] = {
    "version": 1,
    "routers": {"A": {}, "B": {}},
    "brokers": {"store": {}},
    "links": [{"from": "B", "to": "A"}, {"from": "B", "to": "store", "link_routes": ["lr"]}],
}


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    led = (("A", "lr.q", "store"),)
    with running_routed("stand-in", tmp_path_factory.mktemp("faulty"), _LINE, led) as made:
        yield made


@pytest.fixture
def link(routed: Routed) -> Iterator[tuple[Seen, Seen]]:
    """A sender at A, and the broker's end, which gives credit for ten messages."""
    near, far = routed.sender(routed.wires.client(routed.port("A")), "lr.q")
    far.link.flow(10)
    routed.wires.wait(lambda: near.link.credit == 10, "credit")
    yield near, far
    tell(routed, do="clear")
    routed.wires.close_clients()


def tell(routed: Routed, **command: Any) -> None:
    control.send(routed.folder / "B.sock", command)


def send(near: Seen, count: int, *, settled: bool = False) -> None:
    for _ in range(count):
        delivery = near.link.delivery(str(near.sent))
        near.link.send(Message(body=near.sent).encode())
        near.link.advance()
        near.sent += 1
        if settled:
            delivery.settle()


def numbers(far: Seen) -> list[int]:
    found = []
    for body in far.bodies:
        message = Message()
        message.decode(body)
        found.append(int(message.body))
    return found


@pytest.mark.parametrize(
    ("fault", "settled", "came", "outcomes"),
    [
        ({"kind": "drop", "count": 2}, True, [2, 3, 4], []),
        ({"kind": "drop", "count": 2}, False, [2, 3, 4], ["ACCEPTED"] * 2),
        ({"kind": "release", "count": 1}, False, [1, 2, 3, 4], ["RELEASED"]),
        ({"kind": "reject", "count": 1}, False, [1, 2, 3, 4], ["REJECTED"]),
        ({"kind": "modify", "count": 1}, False, [1, 2, 3, 4], ["MODIFIED"]),
        ({"kind": "duplicate", "count": 2}, False, [0, 1, 2, 3, 4], []),
    ],
)
def test_what_a_fault_takes_does_not_reach_the_broker(
    routed: Routed,
    link: tuple[Seen, Seen],
    fault: dict[str, Any],
    settled: bool,  # noqa: FBT001 -- a parameter of the test
    came: list[int],
    outcomes: list[str],
) -> None:
    """Its credit is used by another. A copy would need credit that nobody gave: messages stay single."""
    near, far = link
    tell(routed, address="lr", **fault)
    send(near, 5, settled=settled)
    routed.wires.wait(lambda: len(far.bodies) == len(came), "what is left")
    routed.wires.wait(lambda: len(near.outcomes) == len(outcomes), "outcomes of the fault")
    assert numbers(far) == came
    assert [state for state, _ in near.outcomes] == outcomes
    routed.wires.wait(lambda: near.link.credit == far.link.credit == 10 - len(came), "credit of both ends")
    tell(routed, do="clear")
    send(near, 10 - len(came))
    routed.wires.wait(lambda: len(far.bodies) == 10, "ten messages for ten credits")


def test_a_delay_keeps_the_order(routed: Routed, link: tuple[Seen, Seen]) -> None:
    """Messages of many frames, too, wait whole."""
    near, far = link
    tell(routed, kind="delay", address="lr", ms=300)
    began = time.monotonic()
    near.link.delivery("long")
    near.link.send(b"\x00\x53\x75\xb0" + (100_000).to_bytes(4, "big") + b"z" * 100_000)
    near.link.advance()
    send(near, 2)
    routed.wires.wait(lambda: len(far.bodies) == 3, "three messages")
    assert time.monotonic() - began >= 0.3
    assert [len(body) for body in far.bodies] == [100_008, *[len(body) for body in far.bodies[1:]]]


def test_a_stall_holds_messages_and_credit(routed: Routed, link: tuple[Seen, Seen]) -> None:
    """Nothing moves, a drain is not answered for what is held; at the end all of it goes on."""
    near, far = link
    tell(routed, kind="stall", address="lr")
    send(near, 3)
    far.link.flow(5)
    routed.wires.pump(0.5)
    assert (far.bodies, near.link.credit) == ([], 7)
    tell(routed, do="clear")
    routed.wires.wait(lambda: len(far.bodies) == 3, "what was held")
    routed.wires.wait(lambda: near.link.credit == 12, "the credit that was given meanwhile")
