"""A row's histogram, decoded once for all that read it one after another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from collectors.contract.records import Ints
from streaming.histogram import Indexes, decode, indexes


class CumulativeHistogram(NamedTuple):
    """Buckets in order, and how many values lie before each, and in all."""

    keys: Indexes
    before: Ints

    def at_or_below(self, bounds_ns: Sequence[int]) -> list[int]:
        """Return how many values are at or below each bound; its bucket (0.1 % wide) counts whole."""
        places = np.searchsorted(self.keys, indexes(np.asarray(bounds_ns, np.int64)), "right")
        return [int(n) for n in self.before[places]]

    @property
    def total(self) -> int:
        return int(self.before[-1])


@lru_cache(maxsize=4)
def cumulative(text: str) -> CumulativeHistogram:
    """Raises ValueError if this is no histogram."""
    keys, counts = decode(text).pairs()
    return CumulativeHistogram(keys, np.concatenate(([0], np.cumsum(counts))))
