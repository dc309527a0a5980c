"""The stationary bootstrap (Politis and Romano 1994): windows drawn anew in blocks of random length."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streaming.analysis.figures import Numbers

_QUIET: Final = 5  # lags in a row without correlation, at least
_BOUND: Final = 2.0  # times √(log₁₀ n / n): correlation below it is none


def block_length(series: Numbers) -> float:
    """Return the mean length of blocks that suits a series' mean (Politis and White 2004, corrected 2009).

    It grows with the correlation of neighbours and with the cube root of the length; 1 where there is none.
    """
    n = len(series)
    away = series - series.mean()
    covariance = np.correlate(away, away, "full")[n - 1 :] / n
    if n < 2 * _QUIET or covariance[0] <= 0:
        return 1.0
    quiet = max(_QUIET, math.ceil(math.sqrt(math.log10(n))))
    most = math.ceil(math.sqrt(n)) + quiet
    reach = min(2 * _last_lag(covariance / covariance[0], quiet, most), most, n - 1)
    lags = np.arange(1, reach + 1)
    # The flat-top window: whole up to half its reach, then falling to 0.
    weighed = np.minimum(1.0, 2 * (1 - lags / reach)) * covariance[1 : reach + 1]
    slope, level = 2 * float((lags * weighed).sum()), float(covariance[0] + 2 * weighed.sum())
    if level <= 0:
        return 1.0
    best = math.cbrt(slope**2 / level**2 * n)
    return min(max(best, 1.0), math.ceil(min(3 * math.sqrt(n), n / 3)))


def _last_lag(correlation: Numbers, quiet: int, most: int) -> int:
    """Return the first of `quiet` lags in a row without correlation, as its authors' programs do."""
    n = len(correlation)
    loud = np.abs(correlation[1 : most + 1]) >= _BOUND * math.sqrt(math.log10(n) / n)
    for lag in range(len(loud) - quiet + 1):
        if not loud[lag : lag + quiet].any():
            return lag + 1
    return int(np.flatnonzero(loud)[-1]) + 1


def drawn_counts(windows: int, length: float, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each draw how often it holds each window.

    A draw is as long as the series: blocks that begin anywhere, of geometric length with this mean; behind
    the last window comes the first. A mean or a ratio of sums needs no more of a draw than these counts.
    """
    begins = rng.random((draws, windows), dtype=np.float32) < 1 / length
    begins[:, 0] = True
    place = np.arange(windows, dtype=np.int32)
    since = np.maximum.accumulate(np.where(begins, place, np.int32(0)), axis=1)
    start = rng.integers(windows, size=(draws, windows), dtype=np.int32)
    chosen = (np.take_along_axis(start, since, axis=1) + place - since) % windows
    chosen += (windows * np.arange(draws, dtype=np.int32))[:, None]
    return np.bincount(chosen.ravel(), minlength=draws * windows).reshape(draws, windows)
