"""Percentiles, mean and deviation of many windows together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from collectors.contract.window_rows import Latency
from streaming.accounting.latencies import given_percentiles
from streaming.histogram import Histogram


class Latencies(TypedDict):
    """Latencies as in a window's row, without the histogram."""

    count: int
    min_ns: int
    max_ns: int
    mean_ns: int
    std_ns: int
    percentiles: dict[str, int]


def percentiles_of(values: NDArray[np.int64]) -> dict[str, int]:
    """Returns exact percentiles of the values, by their names."""
    ordered = np.sort(values)
    total = len(ordered)
    return {
        name: int(ordered[max(total - total * over // of, 1) - 1])
        for name, (over, of) in given_percentiles(total).items()
    }


def merged(histogram: Histogram, parts: Sequence[Latency]) -> Latencies:
    """Merge latencies of windows; `histogram` is that of all of them."""
    count = sum(part["count"] for part in parts)
    mean = sum(part["mean_ns"] * part["count"] for part in parts) / count
    squares = sum((part["std_ns"] ** 2 + (part["mean_ns"] - mean) ** 2) * part["count"] for part in parts)
    wanted = given_percentiles(count)
    longest = max(part["max_ns"] for part in parts)
    values = histogram.percentiles(list(wanted.values())) if wanted else []
    return Latencies(
        count=count,
        min_ns=min(part["min_ns"] for part in parts),
        max_ns=longest,
        mean_ns=round(mean),
        std_ns=round(math.sqrt(squares / count)),
        percentiles={name: min(value, longest) for name, value in zip(wanted, values, strict=True)},
    )


def milliseconds(ns: float) -> str:
    """Returns the time in ms with three significant digits."""
    ms = ns / 1e6
    if ms == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(ms))))
    return f"{ms:.{min(digits, 6)}f}"
