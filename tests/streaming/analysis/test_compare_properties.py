"""What no verdict may depend on, and what it must follow."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import Json, Network, by_turns, one_side

from streaming.analysis.compare import verdict
from streaming.analysis.verdicts import FigureVerdict, Verdict

_MIRRORED = {"worse": "better", "better": "worse", "same": "same", "unclear": "unclear"}


def _figure(found: Verdict, name: str) -> FigureVerdict:
    return next(figure for figure in found.figures if figure.name == name)


def _words(found: Verdict) -> dict[str, str]:
    return {figure.name: figure.word for figure in found.figures}


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
