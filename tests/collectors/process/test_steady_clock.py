"""A clock that stands still while its process does."""

from __future__ import annotations

from collectors.process.steady_clock import SteadyClock


def test_it_stands_still_while_nobody_keeps_it_going() -> None:
    """Whoever asks first after that finds it out."""
    times = iter((100.0, 100.25, 100.5, 120.75, 121.0, 121.25, 122.25))
    steady = SteadyClock(lambda: next(times), ticking=False)
    assert [steady.now() for _ in range(2)] == [100.25, 100.5]
    assert [steady.now() for _ in range(2)] == [100.75, 101.0]
    assert steady.still_seconds() == 20.0
    assert steady.now() == 102.25
