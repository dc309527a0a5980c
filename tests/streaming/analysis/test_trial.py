"""When a rate passes: the contract's four limits, each at its edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streaming.analysis.trial import Limits, Trial, judge

FINE = Trial(1_000, 1_000, [5.0] * 30, 0.0, 4_000_000)


def _growing(per_second: float) -> list[float]:
    return [per_second * second for second in range(30)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"got_per_second": 990},  # exactly 0.99 of what was asked
        {"got_per_second": 1_010},  # a backlog from before drains
        {"backlog": _growing(9.9)},
        {"backlog": _growing(-500)},
        {"p99_ns": 10_000_000},
        {"lost_share": 0.001},
    ],
)
def test_a_rate_within_all_limits_passes(changes: dict[str, Any]) -> None:
    """The edges belong to it."""
    word, why = judge(replace(FINE, **changes), Limits(lost_share=0.001, p99_ns=10_000_000))
    assert word == "passed"
    assert why.endswith("of 1,000/s")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"got_per_second": 989}, "got 989 of 1,000/s, less than 99%"),
        ({"backlog": _growing(10)}, "the backlog grows by 10/s"),
        ({"backlog": _growing(300)}, "not below 1% of the rate"),
        ({"lost_share": 0.0011}, "lost 0.110%, allowed 0.100%"),
        ({"p99_ns": 10_000_001}, "p99 10 ms, allowed 10 ms"),
        ({"p99_ns": None}, "too few came for a p99, allowed 10 ms"),
        ({"got_per_second": 0, "lost_share": None}, "got 0 of 1,000/s"),
        ({"stopped": "memory of B above 1 GB", "backlog": []}, "stopped: memory of B above 1 GB"),
    ],
)
def test_a_rate_beyond_one_limit_fails(changes: dict[str, Any], says: str) -> None:
    """And the reason is told."""
    word, why = judge(replace(FINE, **changes), Limits(lost_share=0.001, p99_ns=10_000_000))
    assert word == "failed"
    assert says in why


def test_a_slope_that_is_not_known_well_enough_fails() -> None:
    """The line is flat; what lies beside it could hide 1 % of the rate."""
    backlog = [0.0, 400.0] * 5
    assert judge(replace(FINE, backlog=backlog)).word == "failed"
    assert judge(replace(FINE, backlog=backlog * 20)).word == "passed"


def test_all_reasons_are_told() -> None:
    """Not the first one alone."""
    why = judge(replace(FINE, got_per_second=500, lost_share=0.5)).why
    assert why.count(";") == 1


def test_a_trial_at_the_generators_ceiling_is_neither() -> None:
    """However bad or good the rest is."""
    for trial in (FINE, replace(FINE, got_per_second=10, lost_share=1.0, backlog=[])):
        assert judge(replace(trial, at_ceiling=True)).word == "ceiling"


@pytest.mark.parametrize(
    "changes",
    [
        {"asked_per_second": 0},
        {"asked_per_second": float("inf")},
        {"got_per_second": -1},
        {"got_per_second": float("nan")},
        {"lost_share": 1.1},
        {"p99_ns": -1},
    ],
)
def test_what_cannot_have_been_measured_is_refused(changes: dict[str, Any]) -> None:
    """By the name of the figure."""
    with pytest.raises(ValueError, match="a trial"):
        replace(FINE, **changes)
