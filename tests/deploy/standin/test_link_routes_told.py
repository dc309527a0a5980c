"""What management tells of link routes and routed links: the same from the stand-in and from qdrouterd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from link_routed import Routed, running_routed
from proton import Delivery, Message

from collectors.router import schema

pytestmark = pytest.mark.slow

_TOTALS = {
    "deliveriesIngress",
    "deliveriesEgress",
    "deliveriesIngressRouteContainer",
    "deliveriesEgressRouteContainer",
    "presettledDeliveries",
    "releasedDeliveries",
    "modifiedDeliveries",
    "rejectedDeliveries",
}
_LINE: dict[str, Any] = {
    "version": 1,
    "routers": {"A": {}, "B": {}, "C": {}},
    "brokers": {"store": {}},
    "links": [
        {"from": "B", "to": "A"},
        {"from": "C", "to": "B"},
        {"from": "C", "to": "store", "link_routes": ["lr"]},
    ],
}


@pytest.fixture(scope="module", params=["stand-in", "qdrouterd"])
def routed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    led = (("A", "lr.q", "store"),)
    with running_routed(request.param, tmp_path_factory.mktemp("told"), _LINE, led) as made:
        yield made


def totals(routed: Routed, router: str) -> dict[str, int]:
    (row,) = routed.rows(router, "router")
    return {name: int(row[name]) for name in _TOTALS}


def risen(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - count for name, count in before.items() if after[name] != count}


def test_links_and_counters(routed: Routed) -> None:
    """Five messages each way, two settled before: both halves tell of them, at each router."""
    client = routed.wires.client(routed.port("A"))
    before = {name: totals(routed, name) for name in "ABC"}
    sender, far = routed.sender(client, "lr.q")
    receiver, source = routed.receiver(client, "lr.q")
    far.link.flow(10)
    receiver.link.flow(20)
    routed.wires.wait(lambda: sender.link.credit == 10 and source.link.credit == 20, "credit")
    for number in range(5):
        for end in (sender, source):
            delivery = end.link.delivery(f"{number}")
            end.link.send(Message(body=number).encode())
            end.link.advance()
            if number >= 3:
                delivery.settle()
    routed.wires.wait(lambda: len(far.bodies) == len(receiver.bodies) == 5, "all messages")
    for end in (far, receiver):
        for delivery, outcome in zip(
            end.deliveries, (Delivery.ACCEPTED, Delivery.RELEASED, Delivery.MODIFIED), strict=False
        ):
            delivery.update(outcome)
            delivery.settle()
    routed.wires.wait(lambda: len(sender.outcomes) == len(source.outcomes) == 3, "all outcomes")
    asked = [*(attribute.remote_name for attribute in schema.LINK.attributes), "peer"]
    for router in "ABC":
        told = routed.rows(router, "router.link", asked)
        links = [
            row for row in told if row["linkName"].split("@")[0] in (sender.link.name, receiver.link.name)
        ]
        by_name = {(row["linkName"].split("@")[0], row["linkDir"]): row for row in links}
        assert len(links) == 4
        identities = {row["identity"]: row for row in links}
        for row in links:
            assert identities[row["peer"]]["peer"] == row["identity"]
            assert (row["linkType"], row["owningAddr"], row["operStatus"]) == ("endpoint", "M0lr.q", "up")
            counted = ("deliveryCount", "presettledCount", "acceptedCount", "releasedCount", "modifiedCount")
            assert [row[name] for name in counted] == [5, 2, 1, 1, 1]
            assert [row[name] for name in ("unsettledCount", "undeliveredCount", "rejectedCount")] == [0] * 3
        # Who opened the half: the peer that asked for it, or this router, which gives it no capacity.
        out, into = (by_name[(sender.link.name, "in")], by_name[(receiver.link.name, "out")])
        assert [row["capacity"] for row in (out, into)] == [250, 250]
        assert {row["capacity"] for row in links if row not in (out, into)} == {0}
        assert len({row["connectionId"] for row in links}) == 2
    changed = {name: risen(before[name], totals(routed, name)) for name in "ABC"}
    questions = changed["B"]["deliveriesIngress"] - 10  # each question to a router comes in there, too
    assert questions <= 3
    outcomes = {"presettledDeliveries": 4, "releasedDeliveries": 2, "modifiedDeliveries": 2}
    for name in "ABC":
        told = {key: value for key, value in changed[name].items() if key.endswith("Deliveries")}
        assert told.items() >= outcomes.items()
        assert not [key for key in changed[name] if "RouteContainer" in key]


def test_configured_link_routes(routed: Routed) -> None:
    """One row for each direction, where they are configured; both count in the router's own row."""
    assert [routed.rows(name, "router.config.linkRoute") for name in "AB"] == [[], []]
    told = routed.rows("C", "router.config.linkRoute")
    names = ("name", "prefix", "pattern", "distribution", "connection", "containerId", "operStatus")
    both = ["lr", None, "linkBalanced", "to-store", None, "active"]
    assert [[row[name] for name in names] for row in told] == [
        ["linkRoute/0", *both],
        ["linkRoute/1", *both],
    ]
    assert [(row["direction"], row["dir"]) for row in told] == [("in", "in"), ("out", "out")]
    assert [routed.rows(name, "router")[0]["linkRouteCount"] for name in "ABC"] == [0, 0, 2]


def test_addresses(routed: Routed) -> None:
    """A prefix has a row for each direction; the addresses below it have none."""
    for name, here, elsewhere in (("A", 0, ["C"]), ("B", 0, ["C"]), ("C", 1, [])):
        told = {row["key"]: row for row in routed.rows(name, "router.address")}
        assert not [key for key in told if "lr.q" in key]
        for key in ("Clr", "Dlr"):
            row = told[key]
            assert (row["distribution"], row["containerCount"], row["subscriberCount"]) == (
                "linkBalanced",
                here,
                0,
            )
            assert [host.split(".")[0] for host in row["remoteHostRouters"]] == elsewhere
            assert row["remoteCount"] == len(elsewhere)


def test_a_broker_that_is_gone(routed: Routed) -> None:
    """Its link routes are inactive, and other routers forget them."""
    with routed.away("store"):
        routed.wires.wait(
            lambda: (
                [row["operStatus"] for row in routed.rows("C", "router.config.linkRoute")] == ["inactive"] * 2
            ),
            "inactive link routes",
        )
        routed.wires.wait(
            lambda: not [row for row in routed.rows("A", "router.address") if row["key"] == "Clr"],
            "the end of the address at A",
        )
    client = routed.wires.client(routed.port("A"))
    routed.wait_led(client, "lr.q", "store")
