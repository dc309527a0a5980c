"""How much later than intended messages were sent, counted in buckets."""

from __future__ import annotations

import bisect
from typing import Final

BOUNDS_SECONDS: Final = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.1, 1.0, 10.0)
_BOUNDS_NS: Final = tuple(round(seconds * 1e9) for seconds in BOUNDS_SECONDS)


class SendDelays:
    """The delays of one sender since its beginning; the last bucket is for those above all bounds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_NS) + 1)
        self.sum_ns = 0

    def add(self, delay_ns: int) -> None:
        self.sum_ns += delay_ns
        self.counts[bisect.bisect_left(_BOUNDS_NS, delay_ns)] += 1
