"""The simulated networks themselves: each message has one fate, and counters are those worked out by hand."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from attribution.simulated import counters, faults, history, parts
from attribution.simulated.broker import Broker
from attribution.simulated.ends import Receiver, Sender
from attribution.simulated.network import Network
from attribution.simulated.parts import MS, SECOND, T0, Way

from collectors.contract import path_telemetry, telemetry
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import LIVE, ROUTER, WINDOWS
from collectors.contract.window_rows import check_live, check_window


def a_line(*names: str, flavour: str = "dispatch") -> Network:
    """Return a line of routers that have learnt of one another."""
    network = Network(random.Random(1))  # noqa: S311 -- chance here is to be repeatable
    for name in names:
        network.add_router(name, flavour)
    for one, other in pairwise(names):
        way = Way(one, other, 1, 5 * MS)
        network.ways.append(way)
        network.connect(way)
    return network


def a_path(network: Network, *, presettled: bool, until_s: int) -> tuple[Sender, Receiver]:
    """Attach a sender to A and a receiver to C: ten messages a second, from the second second on."""
    receiver = Receiver(network, "p", "x", "west", network.routers["C"])
    receiver.attach()
    network.run(T0 + SECOND)
    sender = Sender(
        network, "p", "x", "east", network.routers["A"], presettled, SECOND // 10, T0 + until_s * SECOND
    )
    sender.begin()
    return sender, receiver


def address(network: Network, router: str) -> tuple[int, int, int]:
    """Return what the router counts of the path's address: ingress, transit, egress."""
    (row,) = counters.of_addresses(network.routers[router])
    return row["ingress"], row["transit"], row["egress"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", faults.FAULTS)
@pytest.mark.parametrize("disturbed", [False, True])
def test_every_message_has_exactly_one_fate(fault: str, disturbed: bool) -> None:  # noqa: FBT001 -- a case
    """A message is received, unobserved, or lost or refused at some hop, unless an operator removed it."""
    for seed in range(2):
        played = history.simulate(seed, fault, disturbed=disturbed)
        assert played.truth.undone == 0
        for windows in played.truth.paths.values():
            for window in windows.values():
                parted = window.received + window.unobserved + window.lost.total() + window.refused.total()
                assert parted == window.sent


@pytest.mark.parametrize("fault", [name for name, fault in faults.FAULTS.items() if fault.loses])
def test_a_fault_loses_something(fault: str) -> None:
    """Otherwise nothing is learnt from its histories."""
    for seed in range(2):
        truth = history.simulate(seed, fault).truth
        windows = truth.paths["east-west"]
        assert truth.sums("east-west", windows, "lost") or truth.sums("east-west", windows, "refused")


@pytest.mark.parametrize("fault", ["none", "stalled_link", "slow_consumer"])
def test_what_only_delays_loses_nothing(fault: str) -> None:
    """The same of a network in which nothing happens."""
    for seed in range(3):
        truth = history.simulate(seed, fault).truth
        assert not any(w.lost or w.refused for windows in truth.paths.values() for w in windows.values())


def test_the_same_seed_gives_the_same_history() -> None:
    """A failure can be looked at again."""
    one, other = (history.simulate(4, "link_cut", disturbed=True) for _ in range(2))
    assert one.items == other.items
    assert one.truth == other.truth


@pytest.mark.parametrize("fault", ["released", "no_consumer", "middle_killed"])
def test_records_are_those_of_the_contract(fault: str) -> None:
    """Rows and records are read as from Kafka, and come in the order in which it took them."""
    played = history.simulate(3, fault, disturbed=True)
    appended = [item.append_ns for item in played.items]
    assert appended == sorted(appended)
    for item in played.items:
        if item.topic is WINDOWS:
            check_window(item.value)
        elif item.topic is LIVE:
            check_live(item.value)
        elif isinstance(item.value, Telemetry):
            assert telemetry.decode(item.value.encode()) == item.value
            if item.value.entity == path_telemetry.PATH_ADDRESS:
                assert [path_telemetry.check_address(row) for row in item.value.rows] == item.value.rows
            elif item.value.entity == path_telemetry.PATH_LINK:
                assert [path_telemetry.check_link(row) for row in item.value.rows] == item.value.rows
    assert any(item.topic is ROUTER for item in played.items)


def test_ingress_transit_and_egress_of_a_line() -> None:
    """A counts what comes in and goes on, B what goes on, C what goes out: there is no counter more."""
    network = a_line("A", "B", "C")
    sender, _ = a_path(network, presettled=False, until_s=5)
    network.run(T0 + 10 * SECOND)
    sent = len(sender.sent)
    assert 35 <= sent <= 45
    assert address(network, "A") == (sent, sent, 0)
    assert address(network, "B") == (0, sent, 0)
    assert address(network, "C") == (0, 0, sent)
    assert all(message.outcome == "accepted" for message in sender.sent)
    assert all(message.stops == ["A", "B", "C"] for message in sender.sent)


def test_egress_counts_what_the_link_then_drops() -> None:
    """No credit: 3 wait in a link that holds 3, and the fourth message makes it drop all but the first."""
    network = a_line("A", "B", "C")
    sender, receiver = a_path(network, presettled=True, until_s=1)
    (link,) = receiver.links
    link.stalled, link.capacity = True, 3
    sender.until_ns = T0 + 2 * SECOND  # nothing more of its own
    for number in range(4):
        message = parts.Message("p", number, network.now_ns, True, 0, sender, True)
        network.arrive(sender.link, message)  # type: ignore[arg-type] # it is attached
    network.run(T0 + SECOND + 20 * MS)
    (row,) = [row for row in counters.of_links(network.routers["C"], network.now_ns) if row["kind"] == "end"]
    assert address(network, "C")[2] >= 4
    assert row["dropped_presettled"] == 2
    assert row["deliveries"] == 0
    assert network.counts == {("C → receiver", "dropped"): 2}


def test_an_address_goes_with_its_last_subscriber_and_comes_back_from_0() -> None:
    """At A, where the sender's link holds it, it stays and goes on counting."""
    network = a_line("A", "B", "C")
    sender, receiver = a_path(network, presettled=False, until_s=30)
    network.run(T0 + 5 * SECOND)
    assert address(network, "C")[2] > 30
    receiver.detach()
    network.run(T0 + 8 * SECOND)
    assert [counters.of_addresses(network.routers[name]) for name in "BC"] == [[], []]
    receiver.attach()
    network.run(T0 + 9 * SECOND)
    assert 0 < address(network, "C")[2] <= 10
    assert address(network, "A")[0] == len(sender.sent) - (len(sender.sent) and sender.sent[-1].stops == [])
    refused = [message for message in sender.sent if message.outcome == "released"]
    assert {message.names for message in refused} <= {((name, "released"),) for name in "ABC"}
    (link,) = [row for row in counters.of_links(network.routers["A"], network.now_ns) if row["kind"] == "end"]
    assert link["released"] == len(refused)


def test_a_queue_counts_what_became_of_its_messages() -> None:
    """10 of 30 expire, 5 are purged and count as acknowledged, 15 are acknowledged by the receiver."""
    network = Network(random.Random(1))  # noqa: S311 -- chance here is to be repeatable
    broker = Broker(network, "orders-a")
    queue = broker.queue("q")
    sender = Sender(network, "p", "q", "east", broker, False, SECOND, T0)
    messages = [
        parts.Message("p", n, T0, False, T0 + (SECOND if n < 10 else 60 * SECOND), sender, False)
        for n in range(30)
    ]
    for message in messages[:15]:
        broker.take(message, "q")
    queue.scan(T0 + 2 * SECOND)
    queue.purge()
    for message in messages[15:]:
        broker.take(message, "q")
    receiver = Receiver(network, "p", "q", "west", broker)
    receiver.attach()
    network.run(T0 + SECOND)
    assert queue.counts == {"added": 30, "acknowledged": 20, "expired": 10, "killed": 0}
    assert [message.names for message in messages] == [(("orders-a: q", "expired"),)] * 10 + [()] * 20
    assert [message.purged for message in messages] == [False] * 10 + [True] * 5 + [False] * 15
    assert sum(message.received_ns is not None for message in messages) == 15


def test_states_of_rows_tell_what_is_new_and_gone() -> None:
    """After a receiver has gone and come back, its router tells one link gone, and one new."""
    played = history.simulate(0, "released")
    at = played.plan.paths[0].receivers[0]
    told = [
        row["state"]
        for item in played.items
        if isinstance(item.value, Telemetry) and (item.value.target, item.value.entity) == (at, "path_link")
        for row in item.value.rows
        if row["kind"] == "end" and row["state"] and row["address"] in played.places["east-west"].sent_to
    ]
    links = len(played.places["east-west"].sent_to)
    assert sorted(told) == ["gone"] * links + ["new"] * links
