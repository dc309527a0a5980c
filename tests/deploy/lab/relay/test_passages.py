"""A plan led through a relay, and its pace: pure."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest

from deploy.errors import Problem
from deploy.lab.relay.pace import Pace, Timetable
from deploy.lab.relay.passages import Passages
from deploy.topology import plan
from deploy.topology.form import Topology

_MS = 1_000_000


def _passages(document: dict[str, Any]) -> Passages:
    ports = count(30_001)
    return Passages(plan.make(Topology.model_validate({"version": 1, **document})), lambda: next(ports))


_NETWORK = {
    "routers": {"A": {}, "B": {}, "leaf": {"mode": "edge"}},
    "brokers": {"store": {}, "archive": {}},
    "links": [
        {"from": "B", "to": "A", "redundancy": 2, "cost": 3},
        {"from": "leaf", "to": "A"},
        {"from": "B", "to": "store", "queues": ["orders"]},
        {"from": "store", "to": "archive", "by": "mirror"},
    ],
}


def test_connectors_lead_to_the_relay_and_the_relay_to_listeners() -> None:
    """Redundant connectors of a link share a port; all else of the plan is as it was."""
    passages = _passages(_NETWORK)
    b, leaf = passages.plan.routers["B"], passages.plan.routers["leaf"]
    assert [(c.name, c.port, c.cost) for c in b.connectors] == [
        ("to-A", 30_001, 3),
        ("to-A-2", 30_001, 3),
        ("to-store", 30_002, 1),
    ]
    assert [c.port for c in leaf.connectors] == [30_003]
    assert [link.port for link in passages.plan.brokers["store"].links] == [30_004]
    assert {
        link: (p.dialled, p.role, p.to, p.port)
        for link, p in passages.by_link.items()
        if "clients" not in link
    } == {
        "A--B": ("A", "inter-router", ("127.0.0.1", 55_672), 30_001),
        "B--store": ("store", "route-container", ("127.0.0.1", 61_616), 30_002),
        "A--leaf": ("A", "edge", ("127.0.0.1", 45_672), 30_003),
        "archive--store": ("archive", "route-container", ("127.0.0.1", 61_617), 30_004),
    }


def test_clients_have_a_link_to_each_part() -> None:
    passages = _passages(_NETWORK)
    assert {p.to for link, p in passages.by_link.items() if "clients" in link} == {
        ("127.0.0.1", port) for port in (5_672, 5_673, 5_674, 61_616, 61_617)
    }
    assert passages.by_link["A--clients"].port == passages.clients["A"]
    assert passages.by_link["A--clients"].ends == ("A", "clients")


def test_a_link_is_moved_only_to_a_listener_of_its_role() -> None:
    passages = _passages(_NETWORK)
    assert passages.moves("B--store") == {"store": ("127.0.0.1", 61_616), "archive": ("127.0.0.1", 61_617)}
    assert passages.moves("A--clients").keys() == {"A", "B", "leaf", "store", "archive"}
    assert passages.moves("A--B") == {"A": ("127.0.0.1", 55_672)}
    assert passages.moves("A--leaf") == {"A": ("127.0.0.1", 45_672)}


def test_a_part_called_clients_is_refused() -> None:
    with pytest.raises(Problem, match="rename it"):
        _passages({"routers": {"clients": {}}})


def test_bytes_follow_each_other_over_a_limited_link() -> None:
    """And unused time is made up for only as far as timers come late."""
    timetable = Timetable(random.Random(1))  # noqa: S311 -- no secret
    timetable.pace = Pace(bytes_per_second=1_000_000, delay_ns=5 * _MS)
    began = 10_000 * _MS
    assert timetable.due_ns(100_000, began) == began + 80 * _MS + 5 * _MS
    assert timetable.due_ns(50_000, began) == began + 130 * _MS + 5 * _MS
    assert timetable.latest_ns(began) == began + 130 * _MS + 5 * _MS


def test_jitter_stays_around_the_delay() -> None:
    timetable = Timetable(random.Random(1))  # noqa: S311 -- no secret
    timetable.pace = Pace(delay_ns=20 * _MS, jitter_ns=5 * _MS)
    due = [timetable.due_ns(1, 0) for _ in range(2_000)]
    assert 15 * _MS <= min(due) < 16 * _MS
    assert 24 * _MS < max(due) <= 25 * _MS


@pytest.mark.parametrize(
    ("pace", "held_bytes", "piece_bytes"),
    [
        (Pace(), 1, 262_144),
        (Pace(bytes_per_second=1_000), 1, 10),
        (Pace(delay_ns=50 * _MS), 4_194_304, 262_144),
        (Pace(delay_ns=50 * _MS, bytes_per_second=10_000_000), 1_000_000, 100_000),
        (Pace(delay_ns=50 * _MS, bytes_per_second=10_000), 65_536, 100),
        (Pace(delay_ns=10_000 * _MS, bytes_per_second=1e9), 4_194_304, 262_144),
    ],
)
def test_what_is_on_its_way_is_bounded_by_what_fills_the_link(
    pace: Pace, held_bytes: int, piece_bytes: int
) -> None:
    assert (pace.held_bytes, pace.piece_bytes) == (held_bytes, piece_bytes)
