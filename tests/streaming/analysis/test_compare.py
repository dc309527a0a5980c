"""The verdict: its rules on runs whose truth is plain."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from made_runs import Json, Network, by_turns, steady, told

from streaming.analysis.compare import verdict
from streaming.analysis.equivalence import Margins
from streaming.analysis.verdicts import FigureVerdict, Verdict


def _figure(found: Verdict, name: str) -> FigureVerdict:
    return next(figure for figure in found.figures if figure.name == name)


def _words(found: Verdict) -> dict[str, str]:
    return {figure.name: figure.word for figure in found.figures}


def test_runs_that_hardly_differ_are_the_same() -> None:
    found = verdict(steady(1), steady(2, p50_ms=2.01))
    assert found.word == "same"
    assert _words(found) == dict.fromkeys(("p50", "p99", "rate", "loss"), "same")
    assert found.why.startswith("same: every 90 % interval lies within its margin: p50 −")


def test_a_slower_tail_is_worse_and_is_told_with_its_interval() -> None:
    found = verdict(steady(1, p99_ms=4.1), steady(2, p99_ms=6.3))
    assert found.word == "worse"
    assert _words(found) == {"p50": "same", "p99": "worse", "rate": "same", "loss": "same"}
    p99 = _figure(found, "p99")
    assert (p99.a, p99.b) == pytest.approx((4.1e6, 6.3e6), rel=0.001)
    assert p99.difference == pytest.approx(6.3 / 4.1 - 1)
    assert p99.low is not None
    assert p99.high is not None
    assert p99.low < 6.3 / 4.1 - 1 < p99.high
    assert found.why.startswith("worse: p99 4.1 → 6.3 ms (+54 %, 90 % interval +5")
    assert found.why.endswith("; p50, rate and loss the same")


def test_significant_and_yet_within_the_margin_is_the_same() -> None:
    """Sides that do not overlap at all, 3 % apart: the least p there is, and no difference that matters."""
    found = verdict(steady(1, wobble=0.1), steady(2, wobble=0.1, p50_ms=2.06))
    p50 = _figure(found, "p50")
    assert p50.p_value == pytest.approx(2 / 924)
    assert p50.p_holm is not None
    assert p50.p_holm < 0.05
    assert p50.word == found.word == "same"


def test_any_worse_is_worse_whatever_became_better() -> None:
    found = verdict(steady(1), steady(2, p50_ms=1.0, rate=900))
    assert _words(found) == {"p50": "better", "p99": "same", "rate": "worse", "loss": "same"}
    assert found.word == "worse"
    assert "p50 better" in found.why


def test_faster_is_better() -> None:
    found = verdict(steady(1), steady(2, p50_ms=1.5, p99_ms=6.0))
    assert found.word == "better"
    assert "p50 2 → 1.5 ms (−25 %" in found.why


def test_better_needs_that_nothing_else_may_have_become_worse() -> None:
    """A faster median beside a tail that nobody can tell is no better; beside one that fell it is."""
    unsure = verdict(steady(1), _wild_p99(steady(2, p50_ms=1.0), 1.0))
    assert _words(unsure)["p50"] == "better"
    assert _words(unsure)["p99"] == unsure.word == "unclear"
    margins = Margins(p99=0.05, latency_floor_ns=0)
    fell = verdict(steady(1), _wild_p99(steady(2, p50_ms=1.0), 0.85), margins)
    assert _words(fell)["p99"] == "unclear"
    assert _figure(fell, "p99").not_worse
    assert fell.word == "better"


def _wild_p99(side: list[Json], factor: float) -> list[Json]:
    """Return the runs with tails that are all over the place, or of which one alone is as slow as ever."""
    spread = (0.5, 2.0, 0.7, 1.6, 0.6, 1.5) if factor == 1.0 else (0.85, 0.9, 0.97, 0.98, 1.0, 1.0)
    for run, by in zip(side, spread, strict=True):
        run["figures"]["all"]["p99_ns"] *= by
    return side


def test_what_cannot_be_told_is_unclear_and_says_how_many_repetitions_it_takes() -> None:
    found = verdict(steady(1, wobble=15), steady(2, wobble=15))
    assert found.word == "unclear"
    p50 = _figure(found, "p50")
    assert p50.repetitions is not None
    assert p50.repetitions > 6
    assert (
        f"about {max(f.repetitions or 0 for f in found.figures)} repetitions a side would decide" in found.why
    )


def test_as_many_repetitions_as_it_asked_for_do_decide() -> None:
    """In most cases: it is an estimate, from the spread of few."""
    network = Network(drift=0.0, of_runs=0.05, windows=30, messages=200)
    decided = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        first = verdict(*by_turns(network, 6, rng))
        if first.word == "unclear":
            asked = max(figure.repetitions or 0 for figure in first.figures)
            decided.append(verdict(*by_turns(network, asked, rng)).word != "unclear")
    assert len(decided) >= 5
    assert sum(decided) > len(decided) / 2


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (steady(1, runs=5), steady(2), "A has 5 repetitions of at least 6"),
        (steady(1), [], "B has 0 repetitions of at least 6"),
        (
            steady(1),
            steady(2, windows=29),
            "6 of the 6 runs of B are too short (29 steady windows of at least 30)",
        ),
        (
            steady(1, runs=4),
            steady(2, runs=3),
            "A has 4 repetitions of at least 6 and B has 3 repetitions of at least 6",
        ),
    ],
)
def test_too_little_is_unclear_and_says_what_is_missing(a: list[Json], b: list[Json], says: str) -> None:
    found = verdict(a, b)
    assert (found.word, found.test, found.why) == ("unclear", "none", f"unclear: {says}")
    assert all(figure.low is None and figure.p_value is None for figure in found.figures)


def test_without_any_loss_so_few_messages_cannot_show_that_there_is_none() -> None:
    """3 / n bounds the share: 6 × 30 × 100 messages allow 0.017 points, 6 × 30 × 1,000 0.0017."""
    few = verdict(steady(1, messages=100), steady(2, messages=100))
    loss = _figure(few, "loss")
    assert (few.word, loss.word) == ("unclear", "unclear")
    assert (loss.low, loss.high) == pytest.approx((-1.664e-4, 1.664e-4), rel=0.001)
    assert "for loss it takes 29,956 messages a side without a loss, of 18,000 so far" in few.why
    enough = _figure(verdict(steady(1), steady(2)), "loss")
    assert enough.word == "same"
    assert enough.high == pytest.approx(1.664e-5, rel=0.001)


def test_losses_on_one_side_are_worse_in_points() -> None:
    found = verdict(steady(1), steady(2, lost=(120, 180, 150, 160, 140, 150)))
    assert _words(found) == {"p50": "same", "p99": "same", "rate": "same", "loss": "worse"}
    assert "loss 0 → 0.5 % (+0.5 points" in found.why


def test_a_loss_in_a_single_run_is_neither_worse_nor_the_same() -> None:
    assert _words(verdict(steady(1), steady(2, lost=(0, 0, 90, 0, 0, 0))))["loss"] == "unclear"


def test_what_nobody_watched_may_have_been_lost() -> None:
    side = steady(2)
    for run in side:
        run["figures"]["all"]["unobserved"] = 30  # of 30,000: 0.1 %
    found = verdict(steady(1), side)
    assert _figure(found, "loss").word == "unclear"
    high = _figure(found, "loss").high
    assert high is not None
    assert high >= 0.000_99
    assert "watched, as 180 of B were unobserved" in found.why


def test_a_side_that_receives_nothing_is_worse_by_rate_and_loss() -> None:
    """It has no latency: that is said, and keeps nobody from the answer."""
    dead = [
        told(
            2 + 2 * run,
            run,
            p50_ns=None,
            p99_ns=None,
            rate=0.0,
            windows_p50_ns=[None] * 30,
            windows_p99_ns=[None] * 30,
            received=[0] * 30,
            lost=[100] * 30,
        )
        for run in range(6)
    ]
    found = verdict(steady(1), dead)
    assert _words(found) == {"p50": "unclear", "p99": "unclear", "rate": "worse", "loss": "worse"}
    assert found.word == "worse"
    assert "loss 0 → 100 %" in found.why
    without = verdict(steady(1), _unmeasurable(steady(2)))
    assert without.why.endswith("; for p50 and p99 it takes runs that all receive messages")


def _unmeasurable(side: list[Json]) -> list[Json]:
    side[3]["figures"]["all"] |= {"p50_ns": None, "p99_ns": None}
    return side


def test_a_floor_lets_fast_networks_differ_by_what_does_not_matter() -> None:
    """100 → 120 µs is a fifth more, and within 50 µs; in milliseconds the same fifth is worse."""
    fast = verdict(steady(1, p50_ms=0.1), steady(2, p50_ms=0.12))
    assert fast.word == "same"
    assert _figure(fast, "p50").margin == pytest.approx(0.5, rel=0.02)
    assert verdict(steady(1, p50_ms=10, p99_ms=20), steady(2, p50_ms=12, p99_ms=20)).word == "worse"


@pytest.mark.parametrize("wrong", [{"p50": 0}, {"rate": 1.5}, {"loss": math.nan}, {"latency_floor_ns": -1}])
def test_margins_are_shares_and_floors(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"the margin {next(iter(wrong))} is"):
        Margins(**wrong)


def test_the_answer_as_json_tells_the_rules_too() -> None:
    told_json = json.loads(json.dumps(verdict(steady(1), steady(2, p99_ms=12)).as_json()))
    assert told_json["word"] == "worse"
    assert told_json["repetitions"] == [6, 6]
    assert told_json["margins"]["p50"] == 0.05
    assert (told_json["alpha"], told_json["confidence"], told_json["test"]) == (0.05, 0.9, "sides")
    assert [figure["name"] for figure in told_json["figures"]] == ["p50", "p99", "rate", "loss"]
