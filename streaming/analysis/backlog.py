"""By how much a backlog grows each second, and the bound that this stays below; analysis.md says how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

CONFIDENCE: Final = 0.95  # one-sided
LEAST_SECONDS: Final = 10
MOST_SECONDS: Final = 1_000_000
_MOST_CORRELATION: Final = 0.999_999  # as good as a random walk, of which the variance below is finite, too


class Slope(NamedTuple):
    """Messages a second by which a backlog grows; below 0 it drains."""

    per_second: float
    upper_per_second: float  # with 95 % it is no more than this
    correlation: float  # of what is left in one second with that in the next


def waiting(due: Sequence[int], received: Sequence[int], gone: Sequence[int]) -> list[int]:
    """Return what was due and has neither come nor gone for good, at the end of each second.

    Gone is what was lost, refused or never sent. Raises ValueError for counts of different seconds.
    """
    if not len(due) == len(received) == len(gone):
        raise ValueError(
            f"{len(due)} seconds of what was due, {len(received)} of what came, {len(gone)} of what is gone:"
            " count all in the same seconds"
        )
    left = np.asarray(due, np.int64) - np.asarray(received, np.int64) - np.asarray(gone, np.int64)
    return [int(one) for one in np.cumsum(left)]


def slope(backlog: Sequence[float]) -> Slope:
    """Return the slope of a backlog that was looked at once a second.

    What is left beside the line is taken as an autoregression of one second, as queues remember: the variance
    of the slope of ordinary least squares follows from it, and so many degrees of freedom as independent
    seconds would have.

    Raises:
        ValueError: for less than 10 seconds, or for what is no number.
    """
    if not LEAST_SECONDS <= len(backlog) <= MOST_SECONDS:
        raise ValueError(
            f"a backlog of {len(backlog)} seconds has no slope to be told: measure {LEAST_SECONDS} s or more"
        )
    values = np.asarray(backlog, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(
            "a backlog has a second without a number: leave out what was not measured at its ends"
        )
    count = len(values)
    seconds = np.arange(count) - (count - 1) / 2
    weights = seconds / (seconds @ seconds)
    values = values - values.mean()  # a new one: it may be the array of who calls
    grows = float(weights @ values)
    left = values - grows * seconds
    correlation = _correlation(left)
    news = left[1:] - correlation * left[:-1]  # what each second adds that the one before does not tell
    variance = float(news @ news) / (count - 3) * _sum_of_weights(weights, correlation)
    freedom = count * (1 - correlation) / (1 + correlation) - 2
    student = float(stats.t.ppf(CONFIDENCE, min(max(freedom, 1), count - 3)))
    return Slope(grows, grows + student * float(np.sqrt(variance)), correlation)


def _correlation(left: NDArray[np.float64]) -> float:
    """Return the correlation of neighbours, without what fitting a line takes from it (Kendall)."""
    count, squares = len(left), float(left @ left)
    if not squares:
        return 0.0
    found = float(left[1:] @ left[:-1]) / squares
    return min(max((count * found + 2) / (count - 4), 0.0), _MOST_CORRELATION)


def _sum_of_weights(weights: NDArray[np.float64], correlation: float) -> float:
    """Return the variance of the weighted sum of an autoregression whose news have the variance 1."""
    earlier = signal.lfilter([0.0, correlation], [1.0, -correlation], weights)
    return float(weights @ weights + 2 * (weights @ earlier)) / (1 - correlation**2)
