"""The paths of loads, and which process has which end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.config.units import Step
from deploy.loads.model import Description
from deploy.loads.paths import Share, Task, numbered, shares, tasks

BETWEEN = {"from": "a", "to": "b", "address": "inflight/x", "count": 10}


def of(**loads: dict[str, Any]) -> dict[str, Task]:
    return tasks(
        Description.model_validate(
            {
                "endpoints": {"a": {"url": "amqp://a:5672"}, "b": {"url": "amqp://b:5672"}},
                "loads": loads,
            }
        )
    )


ALL = of(
    stream={"kind": "stream", "senders": 3, "receivers": 2, **BETWEEN},
    topic={"kind": "stream", "topic": True, "senders": 2, "receivers": 3, **BETWEEN},
    single={"kind": "ping-pong", **BETWEEN},
    pairs={"kind": "pairs", "pairs": 5, **BETWEEN},
    wide={"kind": "bandwidth", "senders": 2, **BETWEEN},
    relay={"kind": "relay", "at": ["a", "b"], "address": "inflight/r", "clients": 7, "count": 10},
    public={"kind": "public", "queues": 3, "producers": 4, "consumers": 2, **BETWEEN},
)


def senders(found: list[Share]) -> Counter[tuple[str, int]]:
    return Counter(
        (path.name, spec.number) for share in found for spec in share.senders for path in spec.paths
    )


def receivers(found: list[Share]) -> Counter[tuple[str, str]]:
    return Counter((spec.path.name, spec.name) for share in found for spec in share.receivers)


@given(processes=st.integers(1, 40))
def test_every_end_is_in_one_process(processes: int) -> None:
    """However many there are: the same ends as in a single one, each once."""
    found, alone = shares(ALL, processes), shares(ALL, 1)
    assert len(found) == processes
    assert senders(found) == senders(alone)
    assert receivers(found) == receivers(alone)
    assert set(senders(found).values()) | set(receivers(found).values()) == {1}


@given(processes=st.integers(1, 40))
def test_all_ends_that_a_path_says_are_there(processes: int) -> None:
    """A row is complete when so many senders and receivers told of it."""
    found = shares(ALL, processes)
    sending = Counter(name for name, _ in senders(found).elements())
    receiving = Counter(name for name, _ in receivers(found).elements())
    for name, task in ALL.items():
        assert (sending[name], receiving[name]) == (task.path.senders, task.path.receivers)


@given(processes=st.integers(2, 9))
def test_a_round_trip_ends_where_it_began_and_its_partner_is_elsewhere(processes: int) -> None:
    """The one clock of a round trip; the partner's work is no part of the asking process's."""
    for name, task in ALL.items():
        if not task.answered:
            continue
        found = shares(ALL, processes)
        asks = [n for n, s in enumerate(found) if any(x.paths[0].name == name for x in s.senders)]
        hears = [n for n, s in enumerate(found) if any(x.path.name == name for x in s.receivers)]
        answers = [n for n, s in enumerate(found) if any(x.name == name for x in s.answers)]
        assert asks == hears
        assert len(answers) == 1
        assert answers != asks


def test_two_processes_have_an_end_each() -> None:
    sending, receiving = shares(of(one={"kind": "stream", **BETWEEN}), 2)
    assert (len(sending.senders), len(sending.receivers)) == (1, 0)
    assert (len(receiving.senders), len(receiving.receivers)) == (0, 1)


def test_each_inbox_is_a_path_with_all_producers() -> None:
    """And each producer has a sequence of its own for each: four senders at each of three queues."""
    found = of(public={"kind": "public", "queues": 3, "producers": 4, "rate": "10/s", **BETWEEN})
    assert sorted(found) == ["public/0", "public/1", "public/2"]
    assert [task.path.address for task in found.values()] == [f"inflight/x/{n}" for n in range(3)]
    assert {task.path.senders for task in found.values()} == {4}
    assert {task.path.rate for task in found.values()} == {(Step(40.0, 40.0, None),)}


def test_the_consumers_of_a_queue_may_read_at_different_rates() -> None:
    found = shares(of(public={"kind": "public", "consumers": 3, "reads": [0, "5/s"], **BETWEEN}), 1)
    rates = [spec.path.reads_per_second for spec in found[0].receivers]
    assert rates == [0.0, 5.0, 0.0]


def test_each_receiver_of_a_topic_is_a_path_of_one_flow() -> None:
    """One sequence, and a subscription for each."""
    found = of(t={"kind": "stream", "topic": True, "receivers": 2, "subscription": "s", **BETWEEN})
    (share,) = shares(found, 1)
    assert [spec.path.subscription for spec in share.receivers] == ["s-0", "s-1"]
    assert [path.name for path in share.senders[0].paths] == ["t/0", "t/1"]
    assert all(path.multicast for path in share.senders[0].paths)


def test_clients_of_a_relay_have_an_inbox_each_and_take_turns_at_the_end_points() -> None:
    relay = {"kind": "relay", "at": ["a", "b"], "address": "inflight.r", "clients": 3, "count": 10}
    (share,) = shares(of(relay=relay), 1)
    assert [spec.path.receive_address for spec in share.receivers] == [f"inflight.r.{n}" for n in range(3)]
    assert [spec.path.target for spec in share.receivers] == ["a", "b", "a"]


@pytest.mark.parametrize(("address", "first"), [("a/b", "a/b/0"), ("a.b", "a.b.0"), ("a", "a.0")])
def test_addresses_are_numbered_in_their_own_style(address: str, first: str) -> None:
    """A broker's wildcards have dots, a router's patterns slashes."""
    assert numbered(address, 0) == first
