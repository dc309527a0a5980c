"""The boundary of size and rate: for each size of message, the highest rate that is carried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from streaming.analysis.search import Interval, Judgement, Limits, Search, Trial

MOST_SIZES: Final = 64
_BITS: Final = 8


class Edge(NamedTuple):
    """What the search of one size found; bits are those of bodies, without what a protocol adds."""

    size_bytes: int
    interval: Interval
    low_bits_per_second: float | None
    high_bits_per_second: float | None


class Boundary:
    """A search for each size, one after the other; each begins where the one before ended."""

    def __init__(
        self,
        sizes_bytes: Sequence[int],
        low: float,
        high: float | None = None,
        *,
        limits: Limits | None = None,
        resolution: float = 0.05,
    ) -> None:
        """Begin with the smallest size at `low`. Raises ValueError."""
        sizes = sorted(set(sizes_bytes))
        if not 1 <= len(sizes) <= MOST_SIZES or sizes[0] < 1:
            raise ValueError(
                f"a boundary of the sizes {list(sizes_bytes)}: give 1 to {MOST_SIZES} sizes of 1 B or more"
            )
        self._low, self._high, self._limits, self._resolution = low, high, limits, resolution
        self._sizes = sizes
        self._searches = {sizes[0]: Search(low, high, limits=limits, resolution=resolution)}

    def next_trial(self) -> tuple[int, float] | None:
        """Return the size and the rate to try next; None: all searches have ended."""
        for size in self._sizes:
            search = self._searches.get(size) or self._begin(size)
            rate = search.next_rate()
            if rate is not None:
                return size, rate
        return None

    def _begin(self, size: int) -> Search:
        before = self._searches[self._sizes[self._sizes.index(size) - 1]].interval().low_per_second
        low = before if before and (self._high is None or before < self._high) else self._low
        search = Search(low, self._high, limits=self._limits, resolution=self._resolution)
        self._searches[size] = search
        return search

    def took(self, size_bytes: int, rate: float, trial: Trial) -> Judgement:
        """Take what a trial of this size and rate measured, and return how it was judged."""
        return self._searches[size_bytes].took(rate, trial)

    def edges(self) -> list[Edge]:
        """Return what is known by now, of the sizes whose search has begun."""
        return [_edge(size, search.interval()) for size, search in self._searches.items()]


def _edge(size: int, interval: Interval) -> Edge:
    ends = (interval.low_per_second, interval.high_per_second)
    low, high = (None if rate is None else rate * size * _BITS for rate in ends)
    return Edge(size, interval, low, high)
