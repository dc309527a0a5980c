"""Could it be chance? Tests that give the runs to the two sides anew, and Holm's correction for several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streaming.analysis.figures import Numbers

MOST_WAYS: Final = 50_000  # are all gone through, e.g. C(18, 9) = 48,620; of more, this many are drawn:
DRAWN: Final = 9_999
_ROUNDING: Final = 1e-9
_TIE: Final = 1e-6  # of t, or of the largest difference: as large, in arithmetic that rounds
Ways = NDArray[np.float64]


@lru_cache(maxsize=8)
def splits(a: int, b: int, seed: int) -> tuple[Ways, bool]:
    """Return ways to choose `a` of `a + b` runs, as rows of 0 and 1, and whether these are all ways."""
    runs = a + b
    every = math.comb(runs, a) <= MOST_WAYS
    if every:
        chosen = np.array(list(combinations(range(runs), a)))
    else:
        chosen = np.random.default_rng(seed).random((DRAWN, runs)).argsort(axis=1)[:, :a]
    members = np.zeros((len(chosen), runs))
    np.put_along_axis(members, chosen, 1.0, axis=1)
    return members, every


@lru_cache(maxsize=8)
def swaps(pairs: int, seed: int) -> tuple[Ways, bool]:
    """Return ways to swap A and B within pairs, as rows of 1 and −1, and whether these are all ways."""
    if 2**pairs <= MOST_WAYS:
        bits = (np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1
        return (1 - 2 * bits).astype(np.float64), True
    return np.random.default_rng(seed).choice((-1.0, 1.0), size=(DRAWN, pairs)), False


def p_of_sides(a: Numbers, b: Numbers, seed: int) -> float:
    """Return how likely so large a difference of means is if the side of each run means nothing.

    By Welch's t: with as many runs on either side the order of the plain difference, and with
    unequal numbers still fair where one side is steadier than the other.
    """
    runs = np.concatenate((a, b))
    runs = runs - runs.mean()
    spread = float(np.abs(runs).max())
    if spread <= _ROUNDING * float(np.abs(np.concatenate((a, b))).max()):
        return 1.0
    runs = runs / spread
    members, every = splits(len(a), len(b), seed)
    observed = np.concatenate((np.ones(len(a)), np.zeros(len(b))))[None, :]
    return _share(_welch(members, runs), float(_welch(observed, runs)[0]), every=every)


def p_of_pairs(differences: Numbers, seed: int) -> float:
    """Return the same for pairs: if which of the two was A and which B means nothing."""
    spread = float(np.abs(differences).max())
    if spread == 0:
        return 1.0
    ways, every = swaps(len(differences), seed)
    sums = np.abs(ways @ (differences / spread))
    return _share(sums, abs(float(differences.sum())) / spread, every=every)


def least_p_of_pairs(pairs: int) -> float:
    """Return the least that pairs can give: all of one sign, either way."""
    return 2.0 / float(2**pairs)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, in the order given (Holm 1979)."""
    corrected, before = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        before = max(before, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = before
    return corrected


def _welch(members: Ways, runs: Numbers) -> Numbers:
    """Return |t| for each way of choosing side A; `runs` add up to 0."""
    squares = runs**2
    a = members.sum(axis=1)
    b = len(runs) - a
    sum_a, squares_a = members @ runs, members @ squares
    sum_b, squares_b = runs.sum() - sum_a, squares.sum() - squares_a
    variance_a = (squares_a - sum_a**2 / a) / (a - 1) / a
    variance_b = (squares_b - sum_b**2 / b) / (b - 1) / b
    t: Numbers = np.abs(sum_a / a - sum_b / b) / np.sqrt(np.maximum(variance_a + variance_b, _ROUNDING**2))
    return t


def _share(found: Numbers, observed: float, *, every: bool) -> float:
    """Return the share that is as large; of drawn ways the observed one is one more (no p is 0)."""
    as_large = int(np.count_nonzero(found >= observed * (1 - _ROUNDING) - _TIE))
    return as_large / len(found) if every else (as_large + 1) / (len(found) + 1)
