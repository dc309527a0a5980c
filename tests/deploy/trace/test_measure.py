"""Round trips to a router: times, and what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.trace.measure import RoundTrips

TIMEOUT = 100


@pytest.mark.parametrize("number", [1, 2, 3, 10, 99, 100, 101, 250])
def test_figures_are_those_of_numpy(number: int) -> None:
    """Best, median and p99, whose definition is the inverse of the empirical distribution."""
    times = [int(time) for time in np.random.default_rng(number).integers(1, 10**9, number)]
    trips = RoundTrips()
    for tag, time in enumerate(times):
        trips.send(str(tag), 7)
        trips.answer(str(tag), 7 + time)
    assert trips.best_ns == min(times)
    assert trips.median_ns == round(np.median(times))
    assert trips.percentile_ns(99) == np.percentile(times, 99, method="inverted_cdf")


def test_nothing_is_known_of_no_answers() -> None:
    trips = RoundTrips()
    assert (trips.best_ns, trips.median_ns, trips.percentile_ns(99)) == (None, None, None)
    assert trips.missing(0, TIMEOUT) is None
    assert not trips.silent(0, TIMEOUT)


def test_a_request_is_missing_when_its_time_is_over() -> None:
    """Not before; and one that came back undelivered is at once."""
    trips = RoundTrips()
    for tag in "abcd":
        trips.send(tag, 0)
    trips.answer("a", 10)
    assert trips.missing(50, TIMEOUT) == 0
    trips.lose("b")
    assert trips.missing(50, TIMEOUT) == 50
    assert trips.missing(TIMEOUT, TIMEOUT) == 75


def test_a_late_answer_belongs_to_its_own_request() -> None:
    """Whichever came in between: it counts with the whole time it took, and is not missing any more."""
    trips = RoundTrips()
    trips.send("slow", 0)
    trips.send("fast", 200)
    trips.answer("fast", 210)
    assert trips.missing(300, TIMEOUT) == 50
    trips.answer("slow", 400)
    assert sorted(trips.times_ns) == [10, 400]
    assert trips.missing(400, TIMEOUT) == 0


def test_silence() -> None:
    """Nothing answered, or nothing of the last three; a loss now and then is none."""
    trips = RoundTrips()
    trips.send("0", 0)
    assert not trips.silent(0, TIMEOUT)
    assert trips.silent(TIMEOUT, TIMEOUT)
    trips.answer("0", TIMEOUT)
    for number in (1, 2):
        trips.send(str(number), 0)
    assert not trips.silent(TIMEOUT, TIMEOUT)
    trips.send("3", 0)
    assert trips.silent(TIMEOUT, TIMEOUT)
    trips.answer("3", TIMEOUT)
    assert not trips.silent(TIMEOUT, TIMEOUT)
