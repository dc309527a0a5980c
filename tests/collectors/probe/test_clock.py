"""One clock a run, and what the ends know of each other's."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from collectors.contract.records import Clock
from collectors.probe.measure.clock import STEP_NS, ClockComparison, RunClock

SECOND = 1_000_000_000


def test_wall_step_is_noticed() -> None:
    """The run's clock goes on as before; how far the wall has gone from it is told."""
    clock = RunClock.start()
    assert abs(clock.step_ns()) < STEP_NS
    stepped = RunClock(clock.epoch_ns + 2 * SECOND, clock.suspended_ns, clock.boot)
    assert -2 * SECOND - STEP_NS < stepped.step_ns() < -2 * SECOND + STEP_NS
    slept = RunClock(clock.epoch_ns, clock.suspended_ns - 5 * SECOND, clock.boot)
    assert abs(slept.step_ns() - 5 * SECOND) < STEP_NS


def test_clock_follows_the_monotonic_one() -> None:
    """Between two readings passes what passes on the monotonic clock."""
    clock = RunClock.start()
    before, first = time.monotonic_ns(), clock.now_ns()
    second, after = clock.now_ns(), time.monotonic_ns()
    assert 0 <= second - first <= after - before


def test_same_boot_is_exact() -> None:
    """The offset is the difference of the two epochs, and nothing about it is uncertain."""
    comparison = ClockComparison()
    comparison.same_boot(1_000, 400)
    comparison.echo(0, 10, 20, 100)
    assert comparison.best(10**12) == Clock(600, 0)


def test_nothing_known() -> None:
    """Without any answer there is no offset."""
    assert ClockComparison().best(0) is None


@given(
    offset=st.integers(-(10**12), 10**12),
    trips=st.lists(
        st.tuples(st.integers(0, 10**8), st.integers(0, 10**8), st.integers(0, 10**7)),
        min_size=1,
        max_size=30,
    ),
)
def test_truth_is_within_the_bound(offset: int, trips: list[tuple[int, int, int]]) -> None:
    """However unequal the two ways, the true offset is never outside offset ± bound."""
    comparison, now = ClockComparison(), 10**13
    for there, back, thinking in trips:
        asked = now
        heard = asked + there - offset
        answered = heard + thinking
        now = answered + back + offset
        comparison.echo(asked, heard, answered, now)
        best = comparison.best(now)
        assert best is not None
        assert abs(best.offset_ns - offset) <= best.bound_ns + 1
        assert best.bound_ns <= (there + back) // 2 + 1


def test_answers_age() -> None:
    """An answer is worth less as time goes on, and nothing after a minute."""
    comparison = ClockComparison()
    comparison.echo(0, 500, 500, 1_000)
    assert comparison.best(1_000) == Clock(0, 500)
    later = comparison.best(10 * SECOND)
    assert later is not None
    assert later.bound_ns == 500 + (10 * SECOND - 1_000) * 50 // 1_000_000
    assert comparison.best(62 * SECOND) is None


def test_impossible_answers_are_left_out() -> None:
    """An answer that took less than no time is forged or mixed up."""
    comparison = ClockComparison()
    comparison.echo(0, 0, 5_000, 1_000)
    assert comparison.best(1_000) is None
