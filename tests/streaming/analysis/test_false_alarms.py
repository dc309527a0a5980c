"""False alarms and power over networks that were made up: the small form of `make bench NAME=verdicts`."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from made_runs import Network, by_turns, one_side

from streaming.analysis.compare import verdict

pytestmark = pytest.mark.slow
_NETWORK = Network(windows=30, messages=200)  # so many that the share of loss is bounded within its margin
_TRIALS = 100


def _words(repetitions: int, slower: float, trials: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for trial in range(trials):
        rng = np.random.default_rng((18, trial))
        found[verdict(*by_turns(_NETWORK, repetitions, rng, math.log1p(slower))).word] += 1
    return found


@pytest.mark.parametrize("repetitions", [6, 8])
def test_where_nothing_differs_few_are_called_better_or_worse(repetitions: int) -> None:
    """At most 6.4 %: 5 % are allowed, and 1.4 are two standard errors of 1,000 trials."""
    found = _words(repetitions, 0.0, _TRIALS)
    assert found["worse"] + found["better"] <= 0.064 * _TRIALS
    assert found["same"] > 0


def test_runs_of_one_kind_split_by_chance_are_seldom_called_better_or_worse() -> None:
    rng = np.random.default_rng(19)
    runs = one_side(_NETWORK, 24, rng)
    alarms = 0
    for _ in range(_TRIALS):
        order = rng.permutation(24)
        found = verdict([runs[i] for i in order[:12]], [runs[i] for i in order[12:]])
        alarms += found.word in {"worse", "better"}
    assert alarms <= 0.064 * _TRIALS


def test_a_change_at_the_margin_is_hardly_ever_the_same_and_a_large_one_found() -> None:
    """5 % slower at the median is the margin itself: one in twenty is allowed, and of 100 hardly ever ten."""
    assert _words(8, 0.05, 100)["same"] <= 10
    assert _words(8, 0.2, 25)["worse"] == 25
