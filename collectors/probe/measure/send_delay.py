"""How much later than intended messages were sent: counted in buckets, as Prometheus wants them."""

from __future__ import annotations

import bisect
from typing import Final

BOUNDS_SECONDS: Final = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.1, 1.0, 10.0)
_BOUNDS_NS: Final = tuple(round(seconds * 1e9) for seconds in BOUNDS_SECONDS)


class Lag:
    """Of one sender, since its beginning; one bucket more than there are bounds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_NS) + 1)
        self.sum_ns = 0

    def add(self, lag_ns: int) -> None:
        self.sum_ns += lag_ns
        self.counts[bisect.bisect_left(_BOUNDS_NS, lag_ns)] += 1
