"""The verdict: its rules on runs whose truth is plain, and what no verdict may depend on."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import Json, Network, by_turns, one_side, told

from streaming.analysis.compare import calibrate, verdict
from streaming.analysis.equivalence import Margins
from streaming.analysis.verdicts import FigureVerdict, Verdict

_WOBBLE = (-0.012, -0.006, -0.001, 0.003, 0.005, 0.011, -0.009, 0.007, -0.002, 0.006, -0.004, 0.002)
_MIRRORED = {"worse": "better", "better": "worse", "same": "same", "unclear": "unclear"}
_WINDOWS, _MESSAGES = 30, 1_000


def _side(
    first: int = 1,
    *,
    runs: int = 6,
    p50_ms: float = 2.0,
    p99_ms: float = 8.0,
    rate: float = 1_000.0,
    lost: Sequence[int] = (0,) * 12,
    windows: int = _WINDOWS,
    messages: int = _MESSAGES,
    wobble: float = 1.0,
    **changes: Any,
) -> list[Json]:
    """Return steady runs that differ by a percent; every second number from `first`, so B may lie between."""
    made = []
    for run in range(runs):
        of_run = wobble * _WOBBLE[(run + 6 * (first % 2)) % 12]
        factor = math.exp(of_run)
        summary = told(
            first + 2 * run,
            run,
            p50_ns=p50_ms * 1e6 * factor,
            p99_ns=p99_ms * 1e6 * factor,
            rate=rate * math.exp(of_run / 10),
            windows_p50_ns=[p50_ms * 1e6 * factor] * windows,
            windows_p99_ns=[p99_ms * 1e6 * factor] * windows,
            received=[messages] * (windows - 1) + [messages - lost[run]],
            lost=[0] * (windows - 1) + [lost[run]],
        )
        made.append({**summary, **changes})
    return made


def _figure(found: Verdict, name: str) -> FigureVerdict:
    return next(figure for figure in found.figures if figure.name == name)


def _words(found: Verdict) -> dict[str, str]:
    return {figure.name: figure.word for figure in found.figures}


def test_runs_that_hardly_differ_are_the_same() -> None:
    found = verdict(_side(1), _side(2, p50_ms=2.01))
    assert found.word == "same"
    assert _words(found) == dict.fromkeys(("p50", "p99", "rate", "loss"), "same")
    assert found.why.startswith("same: every 90 % interval lies within its margin: p50 −")


def test_a_slower_tail_is_worse_and_is_told_with_its_interval() -> None:
    found = verdict(_side(1, p99_ms=4.1), _side(2, p99_ms=6.3))
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
    found = verdict(_side(1, wobble=0.1), _side(2, wobble=0.1, p50_ms=2.06))
    p50 = _figure(found, "p50")
    assert p50.p_value == pytest.approx(2 / 924)
    assert p50.p_holm is not None
    assert p50.p_holm < 0.05
    assert p50.word == found.word == "same"


def test_any_worse_is_worse_whatever_became_better() -> None:
    found = verdict(_side(1), _side(2, p50_ms=1.0, rate=900))
    assert _words(found) == {"p50": "better", "p99": "same", "rate": "worse", "loss": "same"}
    assert found.word == "worse"
    assert "p50 better" in found.why


def test_faster_is_better() -> None:
    found = verdict(_side(1), _side(2, p50_ms=1.5, p99_ms=6.0))
    assert found.word == "better"
    assert "p50 2 → 1.5 ms (−25 %" in found.why


def test_better_needs_that_nothing_else_may_have_become_worse() -> None:
    """A faster median beside a tail that nobody can tell is no better; beside one that fell it is."""
    unsure = verdict(_side(1), _wild_p99(_side(2, p50_ms=1.0), 1.0))
    assert _words(unsure)["p50"] == "better"
    assert _words(unsure)["p99"] == unsure.word == "unclear"
    margins = Margins(p99=0.05, latency_floor_ns=0)
    fell = verdict(_side(1), _wild_p99(_side(2, p50_ms=1.0), 0.85), margins)
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
    found = verdict(_side(1, wobble=15), _side(2, wobble=15))
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
        (_side(1, runs=5), _side(2), "A has 5 repetitions of at least 6"),
        (_side(1), [], "B has 0 repetitions of at least 6"),
        (
            _side(1),
            _side(2, windows=29),
            "6 of the 6 runs of B are too short (29 steady windows of at least 30)",
        ),
        (
            _side(1, runs=4),
            _side(2, runs=3),
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
    few = verdict(_side(1, messages=100), _side(2, messages=100))
    loss = _figure(few, "loss")
    assert (few.word, loss.word) == ("unclear", "unclear")
    assert (loss.low, loss.high) == pytest.approx((-1.664e-4, 1.664e-4), rel=0.001)
    assert "for loss it takes 29,956 messages a side without a loss, of 18,000 so far" in few.why
    enough = _figure(verdict(_side(1), _side(2)), "loss")
    assert enough.word == "same"
    assert enough.high == pytest.approx(1.664e-5, rel=0.001)


def test_losses_on_one_side_are_worse_in_points() -> None:
    found = verdict(_side(1), _side(2, lost=(120, 180, 150, 160, 140, 150)))
    assert _words(found) == {"p50": "same", "p99": "same", "rate": "same", "loss": "worse"}
    assert "loss 0 → 0.5 % (+0.5 points" in found.why


def test_a_loss_in_a_single_run_is_neither_worse_nor_the_same() -> None:
    assert _words(verdict(_side(1), _side(2, lost=(0, 0, 90, 0, 0, 0))))["loss"] == "unclear"


def test_what_nobody_watched_may_have_been_lost() -> None:
    side = _side(2)
    for run in side:
        run["figures"]["all"]["unobserved"] = 30  # of 30,000: 0.1 %
    found = verdict(_side(1), side)
    assert _figure(found, "loss").word == "unclear"
    high = _figure(found, "loss").high
    assert high is not None
    assert high >= 0.000_99
    assert "watched, as 180 of B were unobserved" in found.why


def test_a_rate_at_the_generators_ceiling_is_not_the_networks() -> None:
    found = verdict(_side(1), _side(2, at_ceiling=True))
    assert _words(found) == {"p50": "same", "p99": "same", "rate": "unclear", "loss": "same"}
    assert found.word == "unclear"
    assert "for rate it takes a load below its generator's ceiling" in found.why
    slower = verdict(_side(1, at_ceiling=True), _side(2, rate=800))
    assert _words(slower)["rate"] == slower.word == "worse"


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
    found = verdict(_side(1), dead)
    assert _words(found) == {"p50": "unclear", "p99": "unclear", "rate": "worse", "loss": "worse"}
    assert found.word == "worse"
    assert "loss 0 → 100 %" in found.why
    without = verdict(_side(1), _unmeasurable(_side(2)))
    assert without.why.endswith("; for p50 and p99 it takes runs that all receive messages")


def _unmeasurable(side: list[Json]) -> list[Json]:
    side[3]["figures"]["all"] |= {"p50_ns": None, "p99_ns": None}
    return side


def test_a_floor_lets_fast_networks_differ_by_what_does_not_matter() -> None:
    """100 → 120 µs is a fifth more, and within 50 µs; in milliseconds the same fifth is worse."""
    fast = verdict(_side(1, p50_ms=0.1), _side(2, p50_ms=0.12))
    assert fast.word == "same"
    assert _figure(fast, "p50").margin == pytest.approx(0.5, rel=0.02)
    assert verdict(_side(1, p50_ms=10, p99_ms=20), _side(2, p50_ms=12, p99_ms=20)).word == "worse"


@pytest.mark.parametrize("wrong", [{"p50": 0}, {"rate": 1.5}, {"loss": math.nan}, {"latency_floor_ns": -1}])
def test_margins_are_shares_and_floors(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"the margin {next(iter(wrong))} is"):
        Margins(**wrong)


def test_pairs_are_seen_in_the_order_of_the_runs() -> None:
    """Eight pairs are swapped within themselves; six cannot reach the level so, nor can sides one by one."""
    assert verdict(_side(1, runs=8), _side(2, runs=8)).test == "pairs"
    assert verdict(_side(1, runs=7), _side(2, runs=7)).test == "sides"
    assert verdict(_side(1, runs=8), _side(201, runs=8)).test == "sides"
    other = _side(2, runs=8)
    other[0]["repetition"], other[1]["repetition"] = 1, 0
    assert verdict(_side(1, runs=8), other).test == "sides"
    six = verdict(_side(1), _side(2, p50_ms=4))
    assert (six.test, six.word) == ("sides", "worse")


def test_pairs_see_through_a_drift_that_sides_do_not() -> None:
    """The machine gets slower by a half while eight pairs are run; B is 6 % slower in each."""
    a, b = _side(1, runs=8, wobble=0.2), _side(2, runs=8, wobble=0.2, p50_ms=2 * 1.06, p99_ms=8 * 1.06)
    for side in (a, b):
        for place, run in enumerate(side):
            for figure in ("p50_ns", "p99_ns"):
                run["figures"]["all"][figure] *= 1 + place / 16
    assert verdict(a, b).word == "worse"
    for place, run in enumerate(b):
        run["repetition"] = (place + 1) % 8
    assert verdict(a, b).word == "unclear"


def test_sides_that_were_run_one_after_the_other_are_told_so() -> None:
    later = verdict(_side(1), _side(101))
    assert not later.interleaved
    assert later.why.endswith("; A and B were not run by turns: a slow hour of the machine counts as theirs")
    calibrated = verdict(_side(1), _side(101), calibration=calibrate(_side(1), _side(101)))
    assert calibrated.why == later.why.removesuffix(
        "; A and B were not run by turns: a slow hour of the machine counts as theirs"
    )


def test_a_calibration_agrees_where_the_machine_is_as_fast() -> None:
    found = calibrate(_side(1, messages=10), _side(101, messages=10))
    assert (found.agrees, found.why) == (True, "the machine was as fast beside both")


@pytest.mark.parametrize(
    ("beside_b", "says"),
    [
        (
            _side(101, p50_ms=3),
            "the machine is not known to have been as fast beside both: calibration p50 2 → 3 ms",
        ),
        (_side(101, wobble=20), "the machine is not known to have been as fast beside both: calibration p50"),
        (_side(101, runs=2), "the calibration is too little: B has 2 repetitions of at least 6"),
    ],
)
def test_without_a_calibration_that_agrees_nothing_is_said(beside_b: list[Json], says: str) -> None:
    """Neither that B is the same, nor that it is worse: the machine may have been."""
    calibration = calibrate(_side(1), beside_b)
    assert not calibration.agrees
    for b in (_side(101), _side(101, p50_ms=4)):
        found = verdict(_side(1), b, calibration=calibration)
        assert found.word == "unclear"
        assert found.why.startswith(f"unclear: {says}")


def test_the_answer_as_json_tells_the_rules_too() -> None:
    told_json = json.loads(json.dumps(verdict(_side(1), _side(2, p99_ms=12)).as_json()))
    assert told_json["word"] == "worse"
    assert told_json["repetitions"] == [6, 6]
    assert told_json["margins"]["p50"] == 0.05
    assert (told_json["alpha"], told_json["confidence"], told_json["test"]) == (0.05, 0.9, "sides")
    assert [figure["name"] for figure in told_json["figures"]] == ["p50", "p99", "rate", "loss"]


@dataclass(frozen=True)
class _Case:
    """Runs of two sides, as few numbers."""

    seed: int
    lost_share: float
    slower: float
    repetitions: int
    in_turns: bool

    def sides(self) -> tuple[list[Json], list[Json]]:
        network = Network(windows=30, messages=100, median_ns=1e8, lost_share=self.lost_share)
        rng = np.random.default_rng(self.seed)
        if self.in_turns:
            return by_turns(network, self.repetitions, rng, self.slower)
        return one_side(network, 6, rng), one_side(network, self.repetitions, rng, 101)


_CASES = st.builds(
    _Case,
    seed=st.integers(0, 10_000),
    lost_share=st.sampled_from((0.0, 0.001, 0.02)),
    slower=st.sampled_from((-0.3, -0.05, 0.0, 0.03, 0.1, 0.3)),
    repetitions=st.sampled_from((6, 7, 8)),
    in_turns=st.booleans(),
)


@given(_CASES)
@settings(deadline=None, max_examples=12)
def test_a_and_b_change_places_and_so_does_the_answer(case: _Case) -> None:
    a, b = case.sides()
    there, back = verdict(a, b), verdict(b, a)
    assert (back.word == "same") == (there.word == "same")
    if there.word == "better":
        assert back.word == "worse"
    for one, other in zip(there.figures, back.figures, strict=True):
        assert other.word == _MIRRORED[one.word]
        assert (one.p_value, one.p_holm) == (other.p_value, other.p_holm)
        if one.name == "loss":
            assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
        else:
            assert 1 + other.low == pytest.approx(1 / (1 + one.high))
            assert 1 + other.high == pytest.approx(1 / (1 + one.low))


@given(_CASES, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=12)
def test_the_order_in_which_runs_are_given_changes_nothing(case: _Case, chance: random.Random) -> None:
    sides = case.sides()
    before = verdict(*sides)
    for side in sides:
        chance.shuffle(side)
    assert verdict(*sides) == before


@given(_CASES, st.sampled_from((0.25, 3.0, 40.0)))
@settings(deadline=None, max_examples=12)
def test_the_unit_of_latencies_changes_nothing(case: _Case, scale: float) -> None:
    """Where floors are far below: here of 100 ms."""
    sides = case.sides()
    before = verdict(*sides)
    for run in (*sides[0], *sides[1]):
        told_all = run["figures"]["all"]
        for of in (told_all, told_all["series"]):
            for name in ("p50_ns", "p99_ns"):
                of[name] = [scale * v for v in of[name]] if isinstance(of[name], list) else scale * of[name]
    after = verdict(*sides)
    assert _words(after) == _words(before)
    for one, other in zip(before.figures, after.figures, strict=True):
        assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=1e-6, abs=1e-9)


@given(st.integers(0, 1_000), st.sampled_from((6, 8)))
@settings(deadline=None, max_examples=8)
def test_the_slower_b_is_the_worse_the_answer(seed: int, repetitions: int) -> None:
    """The same runs, made slower and slower: never back from worse, and better only before the same."""
    rank = {"better": 0, "same": 1, "unclear": 1, "worse": 2}
    a, b = by_turns(Network(windows=30, messages=100), repetitions, np.random.default_rng(seed))
    ranks = []
    for slower in (0.5, 0.8, 1.0, 1.25, 2.0):
        made = json.loads(json.dumps(b))
        for run in made:
            for name in ("p50_ns", "p99_ns"):
                run["figures"]["all"][name] *= slower
        ranks.append(rank[_words(verdict(a, made))["p50"]])
    assert ranks == sorted(ranks)
    assert (ranks[0], ranks[-1]) == (0, 2)


def test_the_seed_decides_draws_and_no_answer_that_is_plain() -> None:
    sides = by_turns(Network(), 8, np.random.default_rng(5), math.log(1.3))
    first, again, other = verdict(*sides), verdict(*sides), verdict(*sides, seed=77)
    assert first == again
    assert first.word == other.word == "worse"
    assert _figure(first, "p50").low != _figure(other, "p50").low
    assert _figure(first, "p50").low == pytest.approx(_figure(other, "p50").low, rel=0.15)
