"""The slope of a backlog and its bound: against other software, exact lines and queues that remember."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg, signal

from streaming.analysis.backlog import slope, waiting


def _remembering(correlation: float, seconds: int, seed: int) -> NDArray[np.float64]:
    """Return a series without a slope in which each second keeps this share of the one before."""
    news = np.random.default_rng(seed).normal(size=seconds + 500)
    series: NDArray[np.float64] = signal.lfilter([1.0], [1.0, -correlation], news)
    return series[-seconds:]


@given(
    grows=st.floats(-1e3, 1e3),
    begins=st.floats(-1e6, 1e6),
    seconds=st.integers(10, 300),
)
def test_a_straight_line_has_its_own_slope_and_no_doubt(grows: float, begins: float, seconds: int) -> None:
    """But for what arithmetic rounds."""
    found = slope([begins + grows * second for second in range(seconds)])
    assert found.per_second == pytest.approx(grows, abs=1e-6)
    assert found.upper_per_second == pytest.approx(grows, abs=1e-6)


def test_a_backlog_that_never_moves_does_not_grow() -> None:
    """Nothing is left beside the line: no division by it."""
    assert slope([7.0] * 30) == (0.0, 0.0, 0.0)


def test_the_slope_is_that_of_ordinary_least_squares() -> None:
    """And so is its bound where seconds are independent: statsmodels, to a tenth of the bound's width."""
    backlog = 3.0 * np.arange(2_000) + np.random.default_rng(8).normal(scale=50, size=2_000)
    fit = sm.OLS(backlog, sm.add_constant(np.arange(2_000))).fit()
    found = slope(backlog.tolist())
    assert found.per_second == pytest.approx(fit.params[1])
    upper = fit.conf_int(0.1)[1][1]
    assert found.upper_per_second - found.per_second == pytest.approx(upper - fit.params[1], rel=0.1)


def test_the_bound_of_a_queue_that_remembers_is_that_of_a_regression_with_such_errors() -> None:
    """Of statsmodels, generalised least squares with the known correlation 0.6: within 15 % of its width."""
    backlog = _remembering(0.6, 1_000, seed=4)
    errors = linalg.toeplitz(0.6 ** np.arange(1_000))
    told = sm.GLS(backlog, sm.add_constant(np.arange(1_000)), sigma=errors).fit()
    upper = told.conf_int(0.1)[1][1]
    found = slope(backlog.tolist())
    assert found.correlation == pytest.approx(0.6, abs=0.1)
    assert found.upper_per_second - found.per_second == pytest.approx(upper - told.params[1], rel=0.15)


@pytest.mark.parametrize(
    ("correlation", "least"),
    [(0.0, 0.94), (0.3, 0.93), (0.6, 0.92), (0.9, 0.88), (1.0, 0.86)],
)
def test_the_bound_holds_as_often_as_the_document_says(correlation: float, least: float) -> None:
    """30 seconds, 1,000 times, from independent ones to a random walk."""
    held = [
        slope(_remembering(correlation, 30, seed).tolist()).upper_per_second >= 0 for seed in range(1_000)
    ]
    assert least <= np.mean(held) <= 0.985


def test_what_waits_is_what_was_due_and_has_neither_come_nor_gone() -> None:
    """By hand; what is lost for good is no backlog that grows."""
    assert waiting([10, 10, 10, 0], [8, 9, 9, 2], [1, 1, 0, 0]) == [1, 1, 2, 0]
    with pytest.raises(ValueError, match="count all in the same seconds"):
        waiting([1, 2], [1], [0, 0])


@pytest.mark.parametrize("backlog", [[1.0] * 9, [1.0] * 10 + [float("nan")]])
def test_what_has_no_slope_is_refused(backlog: list[float]) -> None:
    """With what to do."""
    with pytest.raises(ValueError, match=r"measure 10 s or more|leave out"):
        slope(backlog)
