"""What a design has to be before anything is said of it."""

from __future__ import annotations

import re

import pytest

from streaming.analysis.design import DesignError, coded, sign_table
from streaming.analysis.factorial import analyse

WHOLE = [{"a": -1, "b": -1}, {"a": -1, "b": 1}, {"a": 1, "b": -1}, {"a": 1, "b": 1}]


def test_the_sign_table_of_three_factors() -> None:
    """As it is printed in textbooks: each interaction is the product of its factors' columns."""
    table = sign_table("abc")
    assert table.terms == tuple(map(tuple, ("a", "b", "c", "ab", "ac", "bc", "abc")))
    assert ["".join("+" if sign > 0 else "-" for sign in row) for row in table.signs] == [
        "---+++-",
        "--++--+",
        "-+--+-+",
        "-++--+-",
        "+----++",
        "+-+-+--",
        "++-+---",
        "+++++++",
    ]


def test_levels_of_a_plan_become_signs() -> None:
    """The first of a plan is -1, whichever is larger."""
    runs = [{"size": "4kB", "cost": 1, "seed": 7}, {"size": "256B", "cost": 5, "seed": 7}]
    assert coded(runs, {"size": ["256B", "4kB"], "cost": [5, 1]}) == [
        {"size": 1, "cost": 1},
        {"size": -1, "cost": -1},
    ]


@pytest.mark.parametrize(
    ("factors", "says"),
    [
        ({"size": [1, 2, 3]}, "factor size has the levels [1, 2, 3]"),
        ({"size": [1, 1]}, "factor size has the levels [1, 1]"),
        ({"size": [2, 3]}, "run 1 is at size = 1, which has the levels 2 and 3"),
        ({"cost": [2, 3]}, "run 1 is at cost = nothing"),
    ],
)
def test_levels_that_the_plan_has_not_are_refused(factors: dict[str, list[int]], says: str) -> None:
    """With the factor, the run and what to do."""
    with pytest.raises(DesignError, match=re.escape(says)):
        coded([{"size": 1}], factors)


@pytest.mark.parametrize(
    ("levels", "values", "repetitions", "says"),
    [
        ([], [], [], "0 runs, 0 values"),
        (WHOLE, [1.0, 2.0, 3.0], [0] * 4, "4 runs, 3 values, 4 repetitions"),
        (WHOLE[:3], [1.0] * 3, [0] * 3, "incomplete: no run of repetition 0 at a=+1 b=+1; run them"),
        (
            WHOLE * 2,
            [1.0] * 8,
            [0] * 7 + [1],
            "no run of repetition 1 at a=-1 b=-1; repetition 1 at a=-1 b=+1; repetition 1 at a=+1 b=-1;",
        ),
        (WHOLE[:1], [1.0], [5], "no run of repetition 5 at a=-1 b=+1"),
        (
            WHOLE * 2,
            [1.0] * 8,
            [0] * 8,
            "several runs of repetition 0 at a=-1 b=-1; repetition 0 at a=-1 b=+1",
        ),
        (WHOLE * 2, [1.0] * 8, [0] * 8, "and 1 more; give each run its own repetition"),
        ([*WHOLE[:3], {"a": 1}], [1.0] * 4, [0] * 4, "run 4 has the factors a, run 1 a, b"),
        ([*WHOLE[:3], {"a": 1, "b": 2}], [1.0] * 4, [0] * 4, "run 4 has b = 2: code levels as -1 and 1"),
        (WHOLE, [1.0, 2.0, float("nan"), 3.0], [0] * 4, "run 3 has the value nan"),
        ([{}], [1.0], [0], "a design has 1 to 10 factors, this one 0"),
    ],
)
def test_what_is_no_whole_design_is_refused(
    levels: list[dict[str, int]], values: list[float], repetitions: list[int], says: str
) -> None:
    """With what is wrong, where, and what to do."""
    with pytest.raises(DesignError, match=re.escape(says)):
        analyse(levels, values, repetitions)
