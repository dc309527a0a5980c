"""When targets are polled."""

from __future__ import annotations

import random
import select

from hypothesis import given
from hypothesis import strategies as st

from collectors.polling.schedule import PollSchedule, Stop


def make(interval: float = 5.0, seed: int = 1) -> PollSchedule:
    return PollSchedule(interval, 100.0, random.Random(seed))  # noqa: S311 -- it spreads load, hides nothing


def test_starts_are_spread() -> None:
    """A thousand targets start at different moments of the first seconds."""
    starts = [make(seed=seed).due_seconds for seed in range(1000)]
    assert 100.0 <= min(starts) < 100.1
    assert 101.9 < max(starts) <= 102.0


def test_a_poll_that_took_too_long_makes_no_burst() -> None:
    """The next one waits for the next moment of the raster; missed ones are not made up for."""
    schedule = make()
    first = schedule.due_seconds
    schedule.succeeded(first + 12.0)
    assert schedule.due_seconds == first + 15.0


def test_failures_are_tried_less_often() -> None:
    """Twice as long with each, up to six intervals or a minute; and the interval again after a success."""
    schedule = make()
    waits = []
    for _ in range(8):
        schedule.failed(1000.0)
        waits.append(schedule.due_seconds - 1000.0)
    for wait, longest in zip(waits, [5, 10, 20, 30, 30, 30, 30, 30], strict=True):
        assert 0.75 * longest <= wait <= longest
    schedule.succeeded(1000.0)
    schedule.failed(2000.0)
    assert schedule.due_seconds - 2000.0 <= 5.0


@given(interval=st.floats(0.1, 3600), now=st.floats(0, 1e6))
def test_the_deadline_ends_before_the_next_poll(interval: float, now: float) -> None:
    """Never more than one poll of a target is in flight."""
    schedule = PollSchedule(interval, now)
    due = schedule.due_seconds
    schedule.succeeded(due + schedule.deadline_seconds)
    assert schedule.due_seconds > due + schedule.deadline_seconds


def test_stop_wakes_who_waits_for_sockets() -> None:
    """The flag is seen by select, and setting it twice is harmless."""
    stop = Stop()
    assert select.select([stop.socket], [], [], 0) == ([], [], [])
    stop.set()
    stop.set()
    assert stop.is_set()
    assert select.select([stop.socket], [], [], 0)[0] == [stop.socket]
