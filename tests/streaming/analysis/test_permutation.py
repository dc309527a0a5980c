"""The permutation tests against SciPy's, Holm's correction against statsmodels', and what both must obey."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from streaming.analysis import permutation

Numbers = NDArray[np.float64]
_VALUES = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


def _welch(x: Numbers, y: Numbers, axis: int) -> Numbers:
    """Welch's |t|, by SciPy."""
    return np.abs(stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic)


def _difference(x: Numbers, y: Numbers, axis: int) -> Numbers:
    return np.abs(x.mean(axis=axis) - y.mean(axis=axis))


@pytest.mark.parametrize(("a", "b"), [(6, 6), (6, 9), (8, 7)])
def test_all_ways_of_giving_runs_to_sides_as_scipy_goes_through_them(a: int, b: int) -> None:
    rng = np.random.default_rng(a * 100 + b)
    for shift in (0.0, 0.7, 1.5):
        left, right = rng.standard_normal(a), shift + 2 * rng.standard_normal(b)
        expected = stats.permutation_test(
            (left, right), _welch, n_resamples=math.inf, alternative="greater", vectorized=True
        )
        assert len(expected.null_distribution) == math.comb(a + b, a)
        assert permutation.p_of_sides(left, right, 1) == pytest.approx(expected.pvalue, abs=1e-12)


def test_with_as_many_on_either_side_it_is_the_test_of_the_difference_of_means() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        left, right = rng.lognormal(size=6), rng.lognormal(size=6)
        expected = stats.permutation_test(
            (left, right), _difference, n_resamples=math.inf, alternative="greater", vectorized=True
        )
        assert permutation.p_of_sides(left, right, 1) == pytest.approx(expected.pvalue, abs=1e-12)


def test_all_swaps_within_pairs_as_scipy_goes_through_them() -> None:
    rng = np.random.default_rng(6)
    for shift in (0.0, 0.5, 1.0):
        left = rng.standard_normal(9)
        right = left + shift + rng.standard_normal(9)
        expected = stats.permutation_test(
            (left, right),
            _difference,
            permutation_type="samples",
            n_resamples=math.inf,
            alternative="greater",
            vectorized=True,
        )
        assert permutation.p_of_pairs(right - left, 1) == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize(("a", "least"), [(4, Fraction(2, 70)), (5, Fraction(2, 252)), (6, Fraction(2, 924))])
def test_sides_that_do_not_overlap_at_all_give_the_least_p_there_is(a: int, least: Fraction) -> None:
    """Of C(2a, a) ways the two that keep the sides whole. Four a side cannot reach 5 % / 4."""
    p_value = permutation.p_of_sides(np.arange(a) * 1.0, 50 + np.arange(a) * 1.0, 1)
    assert p_value == pytest.approx(float(least), rel=1e-12)
    assert (p_value * 4 > 0.05) == (a == 4)


def test_of_many_ways_some_are_drawn_and_the_made_one_counts_among_them() -> None:
    """C(24, 12) = 2,704,156. A p value is never 0, and the same for the same seed."""
    far = permutation.p_of_sides(np.arange(12.0), 1_000 + np.arange(12.0), 1)
    assert far == 1 / 10_000
    rng = np.random.default_rng(8)
    left, right = rng.standard_normal(12), 0.6 + rng.standard_normal(12)
    drawn = permutation.p_of_sides(left, right, 1)
    expected = stats.permutation_test(
        (left, right), _welch, n_resamples=99_999, alternative="greater", vectorized=True, rng=9
    ).pvalue
    assert drawn == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 9_999))
    assert drawn == permutation.p_of_sides(left, right, 1)


def test_many_pairs_are_drawn_too() -> None:
    assert permutation.p_of_pairs(np.ones(30), 1) == 1 / 10_000


def test_values_that_are_all_the_same_show_nothing() -> None:
    """Rounding of the arithmetic is no difference either."""
    assert permutation.p_of_sides(np.zeros(6), np.zeros(7), 1) == 1.0
    assert permutation.p_of_sides(np.full(6, 0.1 + 0.2), np.full(6, 0.3), 1) == 1.0
    assert permutation.p_of_pairs(np.zeros(8), 1) == 1.0


def test_a_single_loss_in_twelve_runs_shows_nothing() -> None:
    """Whoever has the one run with a loss, the sides are as far apart."""
    assert permutation.p_of_sides(np.array([0, 0, 0, 0, 0, 0.01]), np.zeros(6), 1) == 1.0


def test_a_steady_large_side_does_not_make_a_small_unsteady_one_significant() -> None:
    """Six runs of three times the spread beside twenty-four: 5 % of false alarms stay about 5 %.

    By the plain difference of means a quarter would be some.
    """
    rng = np.random.default_rng(10)
    found = [
        permutation.p_of_sides(3 * rng.standard_normal(6), rng.standard_normal(24), 1) for _ in range(400)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.10


@given(st.lists(_VALUES, min_size=6, max_size=8), st.lists(_VALUES, min_size=6, max_size=8))
@settings(deadline=None, max_examples=60)
def test_neither_order_nor_names_nor_units_change_a_p_value(left: list[float], right: list[float]) -> None:
    a, b = np.array(left), np.array(right)
    p_value = permutation.p_of_sides(a, b, 1)
    assert 0 < p_value <= 1
    assert permutation.p_of_sides(a[::-1], np.sort(b), 1) == pytest.approx(p_value)
    assert permutation.p_of_sides(b, a, 1) == pytest.approx(p_value)
    assert permutation.p_of_sides(-4 * a, -4 * b, 1) == pytest.approx(p_value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(deadline=None, max_examples=10)
def test_holm_as_statsmodels_corrects(p_values: list[float]) -> None:
    expected = multipletests(p_values, alpha=0.05, method="holm")[1]
    assert permutation.holm(p_values) == pytest.approx(list(expected), abs=1e-12)


def test_holm_by_hand() -> None:
    """4 × 0.01, 3 × 0.02, 2 × 0.03 held up to the one before it, 1 × 0.9."""
    assert permutation.holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
