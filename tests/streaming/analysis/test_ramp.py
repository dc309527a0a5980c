"""Ramps: the peak and the step at which they break, of the two published shapes and at each edge."""

from __future__ import annotations

import json

import pytest

from streaming.analysis.ramp import Ramp, Step, read


def _closed(levels: range, answered: dict[int, float], seconds: float = 120) -> list[Step]:
    """Return a ramp of which these rates are answered in time, and all that is asked."""
    steps = []
    for level in levels:
        count = round(answered[level] * seconds)
        steps.append(Step(level, seconds, count, count))
    return steps


def test_a_ramp_of_clients_on_a_store() -> None:
    """20 more each step: most at 80, a plateau beside it, then ever less until a fifth is gone."""
    rates = {20: 400, 40: 800, 60: 1_190, 80: 1_200, 100: 1_180, 120: 1_100, 140: 961, 160: 959, 180: 900}
    found = read(_closed(range(20, 200, 20), rates))
    assert (found.peak_level, found.peak_per_second, found.plateau) == (80, 1_200, (60, 100))
    assert (found.breaks_at, found.back_at) == (160, None)
    assert found.says == (
        "most, 1,200/s, is answered in time at 80 (alike from 60 to 100); it breaks at 160: 959/s in time,"
        " 100% of what is asked"
    )


def test_clients_that_time_out_and_come_back() -> None:
    """2 more each minute: at 50 a third of what is asked comes too late, at 54 it works again."""
    steps = [Step(level, 60, level * 60, level * 60) for level in range(2, 50, 2)]
    steps += [Step(50, 60, 3_000, 2_000), Step(52, 60, 3_100, 2_500), Step(54, 60, 3_240, 3_200)]
    found = read(steps)
    assert (found.peak_level, found.breaks_at, found.back_at) == (54, 50, 54)
    assert found.says.endswith("it breaks at 50: 33.33/s in time, 67% of what is asked; at 54 it is back")


def test_a_ramp_that_does_not_break() -> None:
    """Its peak may lie beyond its end, and that is said."""
    found = read([Step(1, 1, 10, 10), Step(2, 1, 20, 19)])
    assert (found.peak_level, found.breaks_at, found.back_at) == (2, None, None)
    assert found.says == (
        "most, 19/s, is answered in time at 2, where the ramp ends: the peak may lie beyond;"
        " it does not break until 2"
    )


@pytest.mark.parametrize(
    ("asked", "in_time", "breaks"),
    [(1_000, 900, False), (1_000, 899, True), (800, 800, False), (799, 799, True), (0, 0, True)],
)
def test_the_edges_of_what_breaks(asked: int, in_time: int, breaks: bool) -> None:  # noqa: FBT001 -- a table
    """Less than 90 % in time, or more than 20 % below the highest rate until then."""
    found = read([Step(1, 1, 1_000, 1_000), Step(2, 1, asked, in_time)])
    assert (found.breaks_at is not None) == breaks


def test_a_later_peak_does_not_make_an_earlier_step_a_break() -> None:
    """A ramp that only rises never breaks, however steep it is."""
    found = read([Step(level, 1, 10**level, 10**level) for level in range(6)])
    assert found.breaks_at is None


def test_steps_of_different_length_are_compared_by_rate() -> None:
    """The last one was cut short."""
    found = read([Step(1, 60, 600, 600), Step(2, 60, 1_200, 1_200), Step(3, 6, 120, 120)])
    assert (found.peak_per_second, found.plateau, found.breaks_at) == (20, (2, 3), None)


def test_all_of_it_is_json() -> None:
    """For the report."""
    found: Ramp = read([Step(1, 1, 1, 1)])
    assert json.loads(json.dumps(found.as_json()))["peak_level"] == 1


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "a ramp of 0 steps"),
        ([Step(1, 0, 1, 1)], "step 1 of the ramp took 0 s"),
        ([Step(1, 1, 1, 2)], "step 1 of the ramp answered 2 of 1"),
        ([Step(2, 1, 1, 1), Step(2, 1, 1, 1)], "step 2 of the ramp is at 2"),
    ],
)
def test_what_is_no_ramp_is_refused(steps: list[Step], says: str) -> None:
    """With the step."""
    with pytest.raises(ValueError, match=says):
        read(steps)
