"""Response time by tier: parts add up to the whole, and where they do not it is said by how much."""

from __future__ import annotations

import json
import math
import random

import pytest
import statsmodels.stats.api as sms
from hypothesis import given
from hypothesis import strategies as st

from streaming.analysis.tiers import Part, before_sending, difference, split, tier_of, waiting

MS = 1_000_000


def test_a_way_with_all_tiers() -> None:
    """Of 10 ms: 1 before it is sent, 0.5 at a hop, 6 in the broker of which 4 in its store; 2.5 are left."""
    found = split(
        10 * MS,
        [
            before_sending(10 * MS, 9 * MS),
            waiting("hop", "A → B", [1, 0, 2, 1], 2_000),  # 1 waiting / 2,000 a second
            Part("broker", "orders", 6 * MS, "queue"),
            difference("store", "database", [9 * MS], [5 * MS], how="broker on it less broker on a journal"),
        ],
    )
    assert [(row.tier, row.name, row.own_ns / MS) for row in found.rows] == [
        ("client", "before it is sent", 1),
        ("hop", "A → B", 0.5),
        ("broker", "orders", 6),
        ("store", "database", 4),
        (None, "counted twice", -1.5),
    ]
    assert not found.adds_up
    assert found.says == (
        "the parts are 1.5 ms (15.0%) more than the whole of 10 ms: some time is in two of them, or they were"
        " measured under another load"
    )


def test_a_part_within_another_is_not_counted_twice() -> None:
    """As was published: of 6,832 µs 5,467 in the broker, of these 5,424 in the database."""
    found = split(
        6_832_000,
        [
            Part("broker", "broker", 5_467_000, "its own clock"),
            Part("store", "database", 5_424_000, "the broker's clock", within="broker"),
        ],
    )
    assert [(row.name, row.own_ns) for row in found.rows] == [
        ("broker", 43_000),
        ("database", 5_424_000),
        ("not explained", 1_365_000),
    ]
    assert found.adds_up
    assert found.says == "20.0% of 6.832 ms is not explained"


def test_a_part_that_is_less_than_what_is_within_it_is_told() -> None:
    """Never a negative time in silence."""
    found = split(
        10 * MS, [Part("broker", "orders", 2 * MS, ""), Part("store", "disk", 3 * MS, "", within="orders")]
    )
    assert not found.adds_up
    assert found.says.startswith("orders takes 1 ms less than disk within it: ")
    assert math.fsum(row.own_ns for row in found.rows) == 10 * MS


def test_a_difference_below_nothing_is_told() -> None:
    """Runs with the store were faster."""
    found = split(10 * MS, [difference("store", "disk", [4.9 * MS], [5 * MS], how="with less without")])
    assert not found.adds_up
    assert found.says.startswith("disk comes out 0.1 ms below 0")


def test_parts_a_little_above_the_whole_are_within_what_measuring_leaves() -> None:
    """5 %, as they come from other runs; it is said all the same."""
    found = split(10 * MS, [Part("hop", "A", 10.4 * MS, "")])
    assert found.adds_up
    assert found.rows[-1].name == "counted twice"
    assert found.says == "the parts are 0.4 ms (4.0%) more than the whole of 10 ms, within 5%"


@given(
    whole=st.integers(1, 10**11),
    times=st.lists(st.integers(0, 10**11), max_size=8),
    nested=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_rows_add_up_to_the_whole(whole: int, times: list[int], nested: list[bool]) -> None:
    """However parts lie in each other; and nothing is below 0 without a word."""
    parts: list[Part] = []
    for place, time in enumerate(times):
        within = parts[-1].name if parts and nested[place] else ""
        parts.append(Part("hop", f"{place}", time, "", within))
    found = split(whole, parts)
    assert math.fsum(row.own_ns for row in found.rows) == pytest.approx(whole)
    assert math.fsum(row.share for row in found.rows) == pytest.approx(1)
    outermost = sum(part.mean_ns for part in parts if not part.within)
    assert found.unexplained_ns == whole - outermost
    if any(row.own_ns < 0 for row in found.rows):
        assert "below 0" in found.says or "less than" in found.says or "more than" in found.says
    if found.adds_up:
        assert outermost <= whole * 1.050001
        assert all(row.own_ns >= 0 for row in found.rows[:-1])


def test_what_waits_over_its_rate_is_how_long_a_message_waits() -> None:
    """Little's law, against a queue of one server: each message's own time in it, by arrival and end."""
    chance = random.Random(3)  # noqa: S311 -- an example, no secret
    arrivals, ends, now, free = [], [], 0.0, 0.0
    for _ in range(20_000):
        now += chance.expovariate(800)
        free = max(now, free) + chance.expovariate(1_000)
        arrivals.append(now)
        ends.append(free)
    waited = math.fsum(end - began for began, end in zip(arrivals, ends, strict=True)) / len(ends)
    depths, begun, ended = [], 0, 0
    for moment in range(1, int(ends[-1] * 100)):
        while begun < len(arrivals) and arrivals[begun] <= moment / 100:
            begun += 1
        while ended < len(ends) and ends[ended] <= moment / 100:
            ended += 1
        depths.append(begun - ended)
    found = waiting("broker", "orders", depths, len(ends) / ends[-1])
    assert found.mean_ns / 1e9 == pytest.approx(waited, rel=0.05)


def test_the_interval_of_a_difference() -> None:
    """That of statsmodels for spreads that differ; what holds 0 is said to be within noise."""
    slower, faster = [5.1e6, 5.6e6, 4.9e6, 5.3e6], [4.8e6, 5.2e6, 5.0e6]
    found = difference("store", "disk", slower, faster, how="with less without")
    low, high = sms.CompareMeans(sms.DescrStatsW(slower), sms.DescrStatsW(faster)).tconfint_diff(
        usevar="unequal"
    )
    assert (found.low_ns, found.high_ns) == (pytest.approx(low), pytest.approx(high))
    assert split(10 * MS, [found]).rows[0].how.endswith(": within noise")


def test_repetitions_that_are_all_alike_leave_no_doubt() -> None:
    """And divide by nothing."""
    found = difference("store", "disk", [5 * MS] * 3, [2 * MS] * 3, how="")
    assert (found.mean_ns, found.low_ns, found.high_ns) == (3 * MS, 3 * MS, 3 * MS)


@pytest.mark.parametrize(
    ("kind", "to", "tier"),
    [
        ("queue", "orders", "broker"),
        ("end", "sender", "client"),
        ("end", "receiver", "hop"),
        ("link", "B", "hop"),
    ],
)
def test_hops_of_attribution_have_a_tier(kind: str, to: str, tier: str) -> None:
    """By the words of its rows."""
    assert tier_of(kind, to) == tier


def test_all_of_it_is_json() -> None:
    """For the report."""
    told = json.loads(json.dumps(split(10, [Part("hop", "A", 4, "")]).as_json()))
    assert told["rows"][1]["own_ns"] == 6


@pytest.mark.parametrize(
    ("whole", "parts", "says"),
    [
        (0, [], "a mean response time of 0 ns"),
        (float("nan"), [], "a mean response time of nan ns"),
        (1, [Part("hop", "A", 1, ""), Part("hop", "A", 2, "")], "two parts are named A"),
        (1, [Part("hop", "A", 1, "", within="B")], "within B, which is no part"),
        (1, [Part("hop", "A", 1, "", "B"), Part("hop", "B", 1, "", "A")], "the part A is within itself"),
        (1, [Part("hop", "A", float("inf"), "")], "the part A takes inf ns"),
        (1, [Part("hop", f"{n}", 1, "") for n in range(257)], "257 parts are more than the 256"),
    ],
)
def test_what_is_no_table_is_refused(whole: float, parts: list[Part], says: str) -> None:
    """With what to change."""
    with pytest.raises(ValueError, match=says):
        split(whole, parts)


@pytest.mark.parametrize(
    ("depths", "rate", "says"),
    [
        ([], 1, "what waits at A"),
        ([-1], 1, "what waits at A"),
        ([3], 0, "none leaves"),
        ([1], -1, "the rate out of A"),
    ],
)
def test_what_waits_without_a_bound_is_refused(depths: list[float], rate: float, says: str) -> None:
    """A rate of 0 is one only where nothing waits."""
    assert waiting("hop", "A", [0, 0], 0).mean_ns == 0
    with pytest.raises(ValueError, match=says):
        waiting("hop", "A", depths, rate)


def test_runs_without_a_mean_are_refused() -> None:
    """On either side."""
    for sides in (([], [1.0]), ([1.0], [float("nan")])):
        with pytest.raises(ValueError, match="give one of each repetition"):
            difference("store", "disk", *sides, how="")
