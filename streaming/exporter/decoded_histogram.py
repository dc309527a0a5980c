"""A row's histogram, decoded once for those who need it one after another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from collectors.contract.records import Ints
from streaming.histogram import Indexes, decode, indexes


class CumulativeHistogram(NamedTuple):
    """Buckets in order, and how many values are in those before each, and in all."""

    keys: Indexes
    before: Ints

    def at_or_below(self, bounds_ns: Sequence[int]) -> list[int]:
        """For each bound; one that falls into a bucket counts all of it (0.1 % wide)."""
        places = np.searchsorted(self.keys, indexes(np.asarray(bounds_ns, np.int64)), "right")
        return [int(n) for n in self.before[places]]

    @property
    def total(self) -> int:
        return int(self.before[-1])


@lru_cache(maxsize=4)
def cumulative(text: str) -> CumulativeHistogram:
    """ValueError where this is no histogram."""
    keys, counts = decode(text).pairs()
    return CumulativeHistogram(keys, np.concatenate(([0], np.cumsum(counts))))
