"""Exact integer sums over measured times, with a histogram of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streaming.histogram import Histogram, Indexes, encode_all, indexes
from streaming.rows import PERCENTILES, Latency

Ints = NDArray[np.int64]

_LOW_BITS: Final = 16
_PLAIN: Final = 1 << 62  # sums of squares below it fit into 64 bits


class Measure:
    """Count, extremes, sum and sum of squares as Python integers: squares of ns overflow 64 bits."""

    __slots__ = ("count", "histogram", "largest", "least", "squares", "total")

    def __init__(self) -> None:
        self.count = 0
        self.least = 0
        self.largest = 0
        self.total = 0
        self.squares = 0
        self.histogram = Histogram()

    def record(self, values_ns: Ints, *, absolute: bool = False) -> None:
        """Take in values; `absolute`: the histogram is of their size, all else of them as they are."""
        if not len(values_ns):
            return
        least, largest = int(values_ns.min()), int(values_ns.max())
        size = max(abs(least), abs(largest))
        total = int(values_ns.sum()) if size * len(values_ns) < _PLAIN else sum(values_ns.tolist())
        self._take(len(values_ns), least, largest, total, _squares(values_ns, size))
        if absolute and least < 0:
            self.histogram.record(indexes(np.abs(values_ns), (0, size)))
        else:
            self.histogram.record(indexes(values_ns, (least, largest)))

    def _take(self, count: int, least: int, largest: int, total: int, squares: int) -> None:
        if self.count:
            self.least, self.largest = min(self.least, least), max(self.largest, largest)
        else:
            self.least, self.largest = least, largest
        self.count += count
        self.total += total
        self.squares += squares

    def percentiles(self, most: int) -> dict[str, int]:
        """Those which at least one value is above; a bucket's end beyond `most` is taken back to it."""
        count = self.count
        given = {name: share for name, share in PERCENTILES.items() if count * share[0] >= share[1]}
        if not given:
            return {}
        found = self.histogram.percentiles(list(given.values()))
        return {name: min(value, most) for name, value in zip(given, found, strict=True)}

    def _latency(self, hdr: str) -> Latency | None:
        if not self.count:
            return None
        count, total = self.count, self.total
        # n × Σx² − (Σx)² over n² is the variance, exactly; the root is rounded down.
        deviation = math.isqrt(count * self.squares - total * total) // count
        return {
            "count": count,
            "min_ns": self.least,
            "max_ns": self.largest,
            "mean_ns": _round(total, count),
            "std_ns": deviation,
            "percentiles": self.percentiles(max(self.largest, 0)),
            "hdr": hdr,
        }

    def dump(self) -> tuple[list[int], Indexes, Ints, Indexes]:
        return [self.count, self.least, self.largest, self.total, self.squares], *self.histogram.parts()

    @classmethod
    def load(cls, numbers: list[Any], keys: Indexes, counts: Ints, pending: Indexes) -> Measure:
        found = cls()
        found.count, found.least, found.largest, found.total, found.squares = numbers
        found.histogram = Histogram.of_pairs(keys, counts, pending)
        return found


def record_each(measures: Sequence[Measure], times_ns: Ints) -> None:
    """A row of times for each measure; the last one's histogram is of their size. The rows are used up."""
    least, largest = times_ns.min(axis=1).tolist(), times_ns.max(axis=1).tolist()
    count, size = times_ns.shape[1], max(*largest, -min(least))
    if size * size * count >= _PLAIN:
        for measure, values_ns in zip(measures, times_ns, strict=True):
            measure.record(values_ns, absolute=measure is measures[-1])
        return
    totals, squares = times_ns.sum(axis=1).tolist(), np.einsum("ij,ij->i", times_ns, times_ns).tolist()
    np.abs(times_ns[-1], out=times_ns[-1])
    found = indexes(times_ns, (min(*least, 0), size))
    for measure, buckets, *numbers in zip(measures, found, least, largest, totals, squares, strict=True):
        measure._take(count, *numbers)  # noqa: SLF001 -- of this module
        measure.histogram.record(buckets)


def latencies(measures: Sequence[Measure]) -> list[Latency | None]:
    """As they stand in a row; None where nothing was measured."""
    encoded = encode_all([measure.histogram for measure in measures])
    return [
        measure._latency(hdr)  # noqa: SLF001 -- of this module
        for measure, hdr in zip(measures, encoded, strict=True)
    ]


def _squares(values: Ints, size: int) -> int:
    if size * size * len(values) < _PLAIN:
        return int(np.dot(values, values))
    high = values >> _LOW_BITS
    if (size >> _LOW_BITS) ** 2 * len(values) >= _PLAIN:
        return sum(value * value for value in values.tolist())  # days: no honest latency comes here
    low = values & ((1 << _LOW_BITS) - 1)
    return (
        (int(np.dot(high, high)) << (2 * _LOW_BITS))
        + (int(np.dot(high, low)) << (_LOW_BITS + 1))
        + int(np.dot(low, low))
    )


def _round(total: int, count: int) -> int:
    """The nearest whole number, halves upwards, for either sign."""
    return (2 * total + count) // (2 * count)
