"""The verdict where the machine has a say: runs by turns, drift, calibration, the generator's ceiling."""

from __future__ import annotations

import pytest
from made_runs import Json, steady

from streaming.analysis.compare import calibrate, verdict
from streaming.analysis.verdicts import Verdict


def _words(found: Verdict) -> dict[str, str]:
    return {figure.name: figure.word for figure in found.figures}


def test_a_rate_at_the_generators_ceiling_is_not_the_networks() -> None:
    found = verdict(steady(1), steady(2, at_ceiling=True))
    assert _words(found) == {"p50": "same", "p99": "same", "rate": "unclear", "loss": "same"}
    assert found.word == "unclear"
    assert "for rate it takes a load below its generator's ceiling" in found.why
    slower = verdict(steady(1, at_ceiling=True), steady(2, rate=800))
    assert _words(slower)["rate"] == slower.word == "worse"


def test_pairs_are_seen_in_the_order_of_the_runs() -> None:
    """Eight pairs are swapped within themselves; six cannot reach the level so, nor can sides one by one."""
    assert verdict(steady(1, runs=8), steady(2, runs=8)).test == "pairs"
    assert verdict(steady(1, runs=7), steady(2, runs=7)).test == "sides"
    assert verdict(steady(1, runs=8), steady(201, runs=8)).test == "sides"
    other = steady(2, runs=8)
    other[0]["repetition"], other[1]["repetition"] = 1, 0
    assert verdict(steady(1, runs=8), other).test == "sides"
    six = verdict(steady(1), steady(2, p50_ms=4))
    assert (six.test, six.word) == ("sides", "worse")


def test_pairs_see_through_a_drift_that_sides_do_not() -> None:
    """The machine gets slower by a half while eight pairs are run; B is 6 % slower in each."""
    a, b = steady(1, runs=8, wobble=0.2), steady(2, runs=8, wobble=0.2, p50_ms=2 * 1.06, p99_ms=8 * 1.06)
    for side in (a, b):
        for place, run in enumerate(side):
            for figure in ("p50_ns", "p99_ns"):
                run["figures"]["all"][figure] *= 1 + place / 16
    assert verdict(a, b).word == "worse"
    for place, run in enumerate(b):
        run["repetition"] = (place + 1) % 8
    assert verdict(a, b).word == "unclear"


def test_sides_that_were_run_one_after_the_other_are_told_so() -> None:
    """They would be the same, but for a machine that has fast and slow hours."""
    later = verdict(steady(1), steady(101))
    assert (later.interleaved, later.word) == (False, "unclear")
    assert later.why.startswith("unclear: A and B were not run by turns, and no calibration says")
    calibrated = verdict(steady(1), steady(101), calibration=calibrate(steady(1), steady(101)))
    assert calibrated.word == "same"


def test_a_calibration_agrees_where_the_machine_is_as_fast() -> None:
    found = calibrate(steady(1, messages=10), steady(101, messages=10))
    assert (found.agrees, found.why) == (True, "the machine was as fast beside both")


@pytest.mark.parametrize(
    ("beside_b", "says"),
    [
        (
            steady(101, p50_ms=3),
            "the machine is not known to have been as fast beside both: calibration p50 2 → 3 ms",
        ),
        (
            steady(101, wobble=20),
            "the machine is not known to have been as fast beside both: calibration p50",
        ),
        (steady(101, runs=2), "the calibration is too little: B has 2 repetitions of at least 6"),
    ],
)
def test_without_a_calibration_that_agrees_nothing_is_said(beside_b: list[Json], says: str) -> None:
    """Neither that B is the same, nor that it is worse: the machine may have been."""
    calibration = calibrate(steady(1), beside_b)
    assert not calibration.agrees
    for b in (steady(101), steady(101, p50_ms=4)):
        found = verdict(steady(1), b, calibration=calibration)
        assert found.word == "unclear"
        assert found.why.startswith(f"unclear: {says}")
