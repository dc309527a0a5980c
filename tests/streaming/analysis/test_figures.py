"""Reading the summaries of runs: what is taken from them, and what is said of those that are none."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest
from made_runs import told

from streaming.analysis.figures import FIGURES, BadRuns, read_runs


def _summary(number: int = 3, **changes: Any) -> dict[str, Any]:
    """Return a run of three windows: of 30 messages 27 were received, 2 lost, 1 refused."""
    made = told(
        number,
        repetition=1,
        p50_ns=1_000_000,
        p99_ns=5_000_000,
        rate=9.0,
        windows_p50_ns=[1_000_000, None, 1_100_000],
        windows_p99_ns=[4_000_000, None, 6_000_000],
        received=[14, 0, 13],
        lost=[0, 2, 0],
        refused=1,
    )
    for key, value in changes.items():
        *way, last = key.split("__")
        inside = made
        for name in way:
            inside = inside[name]
        inside[last] = value
    return made


def test_a_run_is_read_as_its_summary_tells() -> None:
    (run,) = read_runs([_summary()], "A")
    assert (run.number, run.repetition, run.windows) == (3, 1, 3)
    assert run.values == {"p50": 1e6, "p99": 5e6, "rate": 9.0, "loss": 2 / 30}
    assert (run.lost, run.judged) == (2, 30)
    assert math.isnan(run.series.p50_ns[1])


def test_latencies_and_rates_are_compared_as_ratios_and_losses_as_differences() -> None:
    (run,) = read_runs([_summary()], "A")
    compared = {figure.name: run.compared(figure) for figure in FIGURES}
    assert compared == {
        "p50": pytest.approx(math.log(1e6)),
        "p99": pytest.approx(math.log(5e6)),
        "rate": pytest.approx(math.log(9)),
        "loss": pytest.approx(2 / 30),
    }


def test_a_rate_of_nothing_is_compared_as_a_hundredth_a_second() -> None:
    (run,) = read_runs([_summary(figures__all__rate_per_second=0)], "A")
    assert run.compared(FIGURES[2]) == pytest.approx(math.log(0.01))


def test_a_run_that_received_nothing_has_no_latency() -> None:
    (run,) = read_runs([_summary(figures__all__p50_ns=None, figures__all__p99_ns=None)], "A")
    assert run.values["p50"] is None
    assert run.compared(FIGURES[0]) is None


def test_runs_come_by_their_time_in_whatever_order_they_are_given() -> None:
    given = [_summary(number) for number in (5, 2, 9)]
    assert [run.number for run in read_runs(given, "A")] == [2, 5, 9]
    assert read_runs([], "A") == ()


_BAD = {
    "A, run 1: levels is missing: is this a summary.json of `inflight experiment`?": {"levels": None},
    "A, run 1: of format 2, not 1: compare with the version that wrote it": {"format": 2},
    "A, run 1: number is 3.0, and no count of 0 or more": {"number": 3.0},
    "A, run 1 (number 3): figures is missing": {"figures": []},
    "A, run 1 (number 3): all is missing": {"figures__all": "fast"},
    "A, run 1 (number 3): lost is -1, and no count of 0 or more": {"figures__all__lost": -1},
    "A, run 1 (number 3): received is 2.5, and no count": {"figures__all__received": 2.5},
    "A, run 1 (number 3): refused is True, and no count": {"figures__all__refused": True},
    "A, run 1 (number 3): unobserved is 1e+30, and no count": {"figures__all__unobserved": 1e30},
    "A, run 1 (number 3): rate_per_second is nan, and no number": {"figures__all__rate_per_second": math.nan},
    "A, run 1 (number 3): p50_ns is inf, and no number of 0 or more": {"figures__all__p50_ns": math.inf},
    "A, run 1 (number 3): p99_ns is 0.0, and no latency above 0": {"figures__all__p99_ns": 0},
    "A, run 1 (number 3): series is missing": {"figures__all__series": [1]},
    "A, run 1 (number 3): series.received is no list of one number for each of its 4 windows": {
        "figures__all__windows": 4,
        "figures__all__series__p50_ns": [1e6] * 4,
        "figures__all__series__p99_ns": [1e6] * 4,
    },
    "A, run 1 (number 3): series.received is None, and no number": {
        "figures__all__series__received": [1, None, 3]
    },
    "A, run 1 (number 3): series.p99_ns has a latency that is not above 0": {
        "figures__all__series__p99_ns": [1, 0, 3]
    },
    "A, run 1 (number 3): 9000000 windows, of at most 200000: use longer windows": {
        "figures__all__windows": 9_000_000
    },
    "A, run 1 (number 3): it ended before it began": {"ended_ns": 5},
}


@pytest.mark.parametrize("says", _BAD)
def test_a_summary_that_is_none_is_told_by_side_run_and_field(says: str) -> None:
    with pytest.raises(BadRuns, match=f"^{re.escape(says)}"):
        read_runs([_summary(**_BAD[says])], "A")


def test_a_side_is_runs_of_one_kind() -> None:
    """Runs of several combinations of levels are no repetitions of each other."""
    with pytest.raises(BadRuns, match="B holds runs of several combinations of levels: compare one"):
        read_runs([_summary(1, levels={"size": "1kB"}), _summary(2, levels={"size": "4kB"})], "B")


def test_what_is_read_is_bounded() -> None:
    with pytest.raises(BadRuns, match="at most 200 runs"):
        read_runs([_summary()] * 201, "A")


def test_reading_changes_nothing_of_what_is_read() -> None:
    given = _summary()
    before = copy.deepcopy(given)
    read_runs([given], "A")
    assert given == before
