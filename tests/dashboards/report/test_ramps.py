"""A load that rises step by step: where most came, where it broke, in a sentence and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dashboards.report import ramps
from dashboards.report.answer import answer
from dashboards.report.model import Figures, Plan, Results, Run, Step

SECOND = 10**9


def run(*steps: tuple[Any, int, int], number: int = 1) -> Run:
    """A run of steps of 10 s: its value, how many were due, how many came."""
    made = [
        Step(
            value,
            place * 10 * SECOND,
            (place + 1) * 10 * SECOND,
            {"all": Figures(sent=due, received=came, refused=0, lost=due - came, unobserved=0, p50_ns=10**6)},
        )
        for place, (value, due, came) in enumerate(steps)
    ]
    total = Figures(sent=10, received=10, refused=0, lost=0, unobserved=0)
    return Run(number, number - 1, {}, {"all": total}, 0, 100 * SECOND, steps=made)


def told(*runs: Run) -> str:
    return answer(Results(Plan("p"), runs, {}, "", ""))


BREAKS = (("100/s", 1_000, 1_000), ("200/s", 2_000, 1_990), ("300/s", 3_000, 1_200), ("400/s", 4_000, 900))
HOLDS = (("100/s", 1_000, 1_000), ("200/s", 2_000, 2_000), ("300/s", 3_000, 3_000))


def test_where_most_came_and_where_it_broke() -> None:
    """200/s of which 199/s came; at 300/s only two fifths of what was due came."""
    assert told(run(*BREAKS)) == "Most came at 200/s, 199/s; it breaks at 300/s."


def test_it_did_not_break() -> None:
    """Then the last step is told, and no more."""
    assert told(run(*HOLDS)) == "Most came at 300/s, 300/s; it does not break until 300/s."


def test_runs_that_disagree() -> None:
    """From the least to the most, and in how many it broke."""
    said = told(run(*BREAKS), run(*HOLDS, number=2))
    assert said == "Most came at 200/s to 300/s, 199/s to 300/s; it breaks in 1 of 2 runs at 300/s."


@pytest.mark.parametrize(
    "steps",
    [
        (),
        HOLDS[:2],  # too few to be a ramp
        (*HOLDS, ("50/s", 500, 500)),  # down again
        (*HOLDS, ("1kB", 4_000, 4_000)),  # of another unit
        (("a", 1, 1), ("b", 1, 1), ("c", 1, 1)),
        (*HOLDS, ("400/s", 0, 0)),  # nothing was due
    ],
)
def test_what_is_no_ramp(steps: Sequence[tuple[Any, int, int]]) -> None:
    """Has no sentence and no picture."""
    assert ramps.of(run(*steps)) is None
    assert ramps.drawn(run(*steps)) is None
    assert "ost came" not in told(run(*steps))


def test_its_picture_has_what_was_due_and_what_came() -> None:
    """Per second, by the step."""
    rates, _ = ramps.drawn(run(*BREAKS)).children
    lines = {each.name: each.data_source.data for each in rates.renderers}
    assert list(lines["due"]["x"]) == [100, 200, 300, 400]
    assert list(lines["due"]["y"]) == [100, 200, 300, 400]
    assert list(lines["came"]["y"]) == [100, 199, 120, 90]
