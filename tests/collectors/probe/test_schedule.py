"""When messages are due, whatever the network does."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.config.units import Step
from collectors.probe.measure.schedule import Schedule

SECOND = 1_000_000_000


def _all(schedule: Schedule, until_ns: int) -> list[int]:
    return schedule.due(until_ns, 10**9)


def test_constant_rate() -> None:
    """10/s is every 100 ms, from the start on."""
    schedule = Schedule([Step(10, 10, None)])
    assert _all(schedule, 450_000_000) == [0, 100_000_000, 200_000_000, 300_000_000, 400_000_000]
    assert _all(schedule, 500_000_000) == [500_000_000]


@given(st.floats(0.01, 10_000), st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_asking_often_changes_nothing(rate: float, steps: list[int]) -> None:
    """The times do not depend on when, and how often, one looks."""
    often, once = Schedule([Step(rate, rate, None)]), Schedule([Step(rate, rate, None)])
    now, found = 0, []
    for step in steps:
        now += step // 100
        found += often.due(now, 10**9)
    assert found == _all(once, now)


def test_at_most() -> None:
    """What is not taken now is due later, with its own time."""
    schedule = Schedule([Step(10, 10, None)])
    assert schedule.due(SECOND, 2) == [0, 100_000_000]
    assert schedule.due(SECOND, 2) == [200_000_000, 300_000_000]


def test_steps_and_end() -> None:
    """2 s at 5/s, then 1 s at 10/s, then nothing."""
    schedule = Schedule([Step(5, 5, 2 * SECOND), Step(10, 10, SECOND)])
    found = _all(schedule, 10 * SECOND)
    assert len([t for t in found if t < 2 * SECOND]) == 10
    assert len([t for t in found if 2 * SECOND <= t < 3 * SECOND]) == 10
    assert len(found) == 20
    assert schedule.done


def test_ramp() -> None:
    """From 10/s to 30/s in 10 s: 20/s on average, 12/s in the second second, 28/s in the ninth."""
    schedule = Schedule([Step(10, 30, 10 * SECOND)])
    found = _all(schedule, 20 * SECOND)
    assert len(found) == 200
    by_second = [sum(s * SECOND <= t < (s + 1) * SECOND for t in found) for s in range(10)]
    # The rate in the middle of second s is 11 + 2 s.
    assert all(abs(count - (11 + 2 * s)) <= 1 for s, count in enumerate(by_second))


def test_ramp_down_reaches_its_end() -> None:
    """A falling ramp ends with its last rate, and the step after it goes on from there."""
    schedule = Schedule([Step(20, 10, 10 * SECOND), Step(10, 10, None)])
    found = _all(schedule, 12 * SECOND)
    assert len([t for t in found if t < 10 * SECOND]) == 150
    assert len([t for t in found if 10 * SECOND <= t < 12 * SECOND]) == 20


def test_poisson() -> None:
    """Poisson arrivals have the rate on average, and gaps as varied as they are long."""
    source = random.Random(1)  # noqa: S311 -- a test
    found = _all(Schedule([Step(100, 100, None)], "poisson", random_source=source), 100 * SECOND)
    assert len(found) == pytest.approx(10_000, rel=0.05)
    gaps = [b - a for a, b in itertools.pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation == pytest.approx(mean, rel=0.05)


@given(st.integers(1, 7), st.integers(1, 100))
def test_senders_share_the_rate(senders: int, count: int) -> None:
    """Several senders together send what one would, at different times, and as many as were asked for."""
    parts = [Schedule([Step(50, 50, None)], share=senders, position=n, count=count) for n in range(senders)]
    times = sorted(t for part in parts for t in _all(part, 10 * SECOND))
    assert len(times) == count
    whole = _all(Schedule([Step(50, 50, None)], count=count), 10 * SECOND)
    assert all(abs(a - b) <= 1 for a, b in zip(times, whole, strict=True))


def test_count_and_duration() -> None:
    """The first of the two that is reached ends it."""
    by_count = Schedule([Step(10, 10, None)], count=3, duration_ns=SECOND)
    assert len(_all(by_count, 10 * SECOND)) == 3
    assert by_count.done
    by_time = Schedule([Step(10, 10, None)], count=30, duration_ns=SECOND)
    assert len(_all(by_time, 10 * SECOND)) == 10
    assert by_time.done


def test_unpaced() -> None:
    """Rate 0 gives as many as asked for, up to the count or the end of time."""
    schedule = Schedule([Step(0, 0, None)], count=10)
    assert schedule.unpaced
    assert schedule.take(0, 7) == 7
    assert schedule.take(0, 7) == 3
    assert schedule.take(0, 7) == 0
    assert schedule.done
    timed = Schedule([Step(0, 0, None)], duration_ns=SECOND)
    assert timed.take(SECOND - 1, 5) == 5
    assert timed.take(SECOND, 5) == 0
    assert timed.done
