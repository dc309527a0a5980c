"""Intervals: bounds of losses against statsmodels', and what the spread of a mean is made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_runs import Network, summary, told
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from streaming.analysis import intervals
from streaming.analysis.figures import FIGURES, read_runs


@pytest.mark.parametrize(("lost", "of"), [(0, 1), (0, 30), (0, 40_000), (3, 900), (899, 900), (900, 900)])
def test_the_most_that_may_be_lost_as_statsmodels_tells_it(lost: int, of: int) -> None:
    """The upper end of its two-sided 90 % interval has 5 % beyond it."""
    expected = proportion_confint(lost, of, alpha=0.10, method="beta")[1]
    assert intervals.most_lost(lost, of) == pytest.approx(expected, rel=1e-9)


def test_of_how_many_messages_none_may_be_lost() -> None:
    """The rule of three: the bound of none in n is about 3 / n; none at all say nothing."""
    needed = intervals.messages_needed(0.000_1)
    assert needed == pytest.approx(3 / 0.000_1, rel=0.01)
    assert intervals.most_lost(0, needed) <= 0.000_1 < intervals.most_lost(0, needed - 1)
    assert intervals.most_lost(0, 0) == 1.0


@pytest.mark.parametrize(("between", "inside"), [(1.0, 0.2), (0.5, 0.49), (0.1, 1.0)])
def test_a_mean_varies_as_its_repetitions_do_or_as_their_windows_where_these_do_more(
    between: float, inside: float
) -> None:
    """The noise of windows is already in what repetitions differ by: counted twice it would widen."""
    rng = np.random.default_rng(1)
    values = stats.zscore(rng.standard_normal(8), ddof=1) * between
    within = inside * rng.standard_normal((8, 40_000))
    draws = intervals.mean_draws(values, within, rng)
    assert draws.mean() == pytest.approx(0, abs=0.01)
    assert draws.var() == pytest.approx(max(between, inside) ** 2 / 8, rel=0.05)


def test_repetitions_that_are_all_alike_leave_the_noise_of_their_windows() -> None:
    rng = np.random.default_rng(2)
    draws = intervals.mean_draws(np.full(6, 3.0), 0.1 * rng.standard_normal((6, 20_000)), rng)
    assert draws.std() == pytest.approx(0.1 / math.sqrt(6), rel=0.03)


def test_few_repetitions_widen_an_interval_as_students_t_does() -> None:
    """On draws of a normal distribution the interval is Student's."""
    draws = np.random.default_rng(3).standard_normal(400_000)
    for freedom in (5, 10, 22):
        low, high = intervals.of_draws(draws, freedom)
        assert high == pytest.approx(stats.t.ppf(0.95, freedom), rel=0.02)
        assert low == pytest.approx(-high, rel=0.02)


def test_the_freedom_of_two_means_is_welchs() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal(6), 3 * rng.standard_normal(11)
    assert intervals.freedom_of(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)
    assert intervals.freedom_of(np.zeros(6), np.zeros(7)) == 11


def test_an_interval_holds_the_difference_as_often_as_it_says() -> None:
    """Of 400 pairs of sides without a difference 90 %: within three standard errors, 85.5 to 94.5."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        a, b = rng.standard_normal((2, 6))
        noise = 0.3 * rng.standard_normal((2, 6, 1_000))
        draws = intervals.mean_draws(b, noise[1], rng) - intervals.mean_draws(a, noise[0], rng)
        low, high = intervals.of_draws(draws, intervals.freedom_of(a, b))
        held += low <= b.mean() - a.mean() <= high
    assert 0.855 * 400 <= held <= 0.945 * 400


def test_windows_tell_how_far_a_run_may_be_off() -> None:
    """Over many runs of the same network a figure varies by about as much as the windows of one say."""
    network = Network(windows=60, messages=200, of_runs=0, rate_of_runs=0, lost_share=0.01)
    rng = np.random.default_rng(6)
    runs = read_runs([summary(network, rng, number) for number in range(60)], "A")
    within = intervals.within_runs(runs, 1, 0)
    for figure in FIGURES:
        values = np.array([run.compared(figure) for run in runs])
        said = math.sqrt(float(within[figure.name].var(axis=1).mean()))
        if figure.name == "rate":  # of the schedule here, and of its windows nearly nothing
            assert said < 0.01
        else:
            assert said == pytest.approx(values.std(ddof=1), rel=0.5), figure.name


def test_windows_without_messages_and_long_series_are_no_trouble() -> None:
    """A window without messages has no latency and no weight; what is never lost or sent is never off."""
    empty = told(
        1,
        0,
        p50_ns=1e6,
        p99_ns=2e6,
        rate=5,
        windows_p50_ns=[1e6, None] * 700,
        windows_p99_ns=[2e6, None] * 700,
        received=[10, 0] * 700,
        lost=[0] * 1_400,
    )
    nothing = told(
        2,
        1,
        p50_ns=None,
        p99_ns=None,
        rate=0,
        windows_p50_ns=[None] * 40,
        windows_p99_ns=[None] * 40,
        received=[0] * 40,
        lost=[0] * 40,
    )
    within = intervals.within_runs(read_runs([empty, nothing], "A"), 1, 0)
    assert within["p50"] == pytest.approx(0, abs=1e-9)
    assert within["loss"] == pytest.approx(0)
    assert np.isfinite(within["rate"]).all()
