"""The stationary bootstrap against the `arch` package's, and against truths of AR(1) series."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arch.bootstrap import StationaryBootstrap, optimal_block_length

from streaming.analysis.bootstrap import block_length, drawn_counts


def _ar1(length: int, lasting: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(length)
    for place in range(1, length):
        noise[place] += lasting * noise[place - 1]
    return noise


@pytest.mark.parametrize("length", [60, 400, 2_000])
@pytest.mark.parametrize("lasting", [0.0, 0.5, 0.8])
def test_the_chosen_length_is_that_of_arch(length: int, lasting: float) -> None:
    """Nearly: they norm autocorrelations by a hair differently, so that a lag at the bound may fall aside."""
    ratios = []
    for seed in range(30):
        series = _ar1(length, lasting, seed)
        theirs = float(optimal_block_length(series)["stationary"].iloc[0])
        ratios.append(block_length(series) / max(theirs, 1.0))
    assert np.median(ratios) == pytest.approx(1, abs=0.02)


def test_the_chosen_length_is_about_the_best_one_of_a_long_series() -> None:
    """Of AR(1) with 0.5 and 5,000 values: (2 · 0.5 / (1 − 0.25))^(2/3) · 5,000^(1/3) = 20.7."""
    best = (2 * 0.5 / (1 - 0.5**2)) ** (2 / 3) * 5_000 ** (1 / 3)
    found = [block_length(_ar1(5_000, 0.5, seed)) for seed in range(20)]
    assert np.median(found) == pytest.approx(best, rel=0.15)


def test_where_nothing_lasts_blocks_are_short_and_never_longer_than_a_third() -> None:
    found = [block_length(np.random.default_rng(seed).standard_normal(300)) for seed in range(20)]
    assert np.median(found) < 3
    assert block_length(np.arange(30.0)) <= 10
    assert block_length(np.zeros(40)) == 1
    assert block_length(np.array([1.0, 2.0])) == 1


@pytest.mark.parametrize("lasting", [0.0, 0.5, 0.8])
def test_the_error_of_a_mean_is_that_of_arch(lasting: float) -> None:
    """Over draws with the same mean length of blocks; not the same draws."""
    for seed in range(3):
        series, length = _ar1(200, lasting, seed), 8.0
        ours = drawn_counts(200, length, 6_000, np.random.default_rng(seed)) @ series / 200
        theirs = StationaryBootstrap(length, series, seed=seed).apply(np.mean, 6_000)[:, 0]
        assert ours.std() == pytest.approx(theirs.std(), rel=0.05)
        assert ours.mean() == pytest.approx(series.mean(), abs=5 * ours.std() / math.sqrt(6_000))
        for share in (0.05, 0.95):
            assert np.quantile(ours, share) == pytest.approx(
                np.quantile(theirs, share), abs=0.12 * ours.std()
            )


def test_the_variance_of_a_mean_is_the_one_that_was_proved() -> None:
    """Politis and Romano 1994, lemma 1: covariances around the circle.

    Two places of a draw are of one block with (1 − p)^lag, and else have nothing to do with each other.
    """
    series, length, n = _ar1(120, 0.6, 4), 6.0, 120
    away, p = series - series.mean(), 1 / length
    circular = [float(away @ np.roll(away, -lag)) / n for lag in range(n)]
    sums = sum((1 - lag / n) * (1 - p) ** lag * circular[lag] for lag in range(1, n))
    drawn = drawn_counts(n, length, 20_000, np.random.default_rng(1)) @ series / n
    assert drawn.var() == pytest.approx((circular[0] + 2 * sums) / n, rel=0.04)


def test_a_draw_is_as_long_as_the_series_and_each_window_comes_as_often() -> None:
    counts = drawn_counts(50, 5.0, 4_000, np.random.default_rng(2))
    assert (counts.sum(axis=1) == 50).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.15)


def test_blocks_have_the_length_asked_for() -> None:
    """With blocks of length 1 a window is drawn as by a die: 1 − 1/n of the variance of a count, 1."""
    alone = drawn_counts(40, 1.0, 4_000, np.random.default_rng(3))
    assert alone.var() == pytest.approx(1 - 1 / 40, rel=0.03)
