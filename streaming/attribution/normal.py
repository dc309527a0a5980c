"""How slow a path is when nothing is wrong: the median of its windows of the last day."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

LEAST: Final = 60  # windows: before, nothing is known to be normal
_HOUR_NS: Final = 3_600_000_000_000
_HOURS: Final = 24
_STEPS: Final = 16  # of a factor of two: a median to within 5 %


@dataclass(slots=True)
class Normal:
    """Counts of windows by hour and by the logarithm of their latency."""

    hours: dict[int, dict[int, int]] = field(default_factory=dict)
    _median_ns: int | None = field(default=None, init=False)
    _counted: bool = field(default=False, init=False)  # since the last window was added

    def add(self, start_ns: int, latency_ns: int) -> None:
        if latency_ns > 0:
            self._counted = False
            counts = self.hours.setdefault(start_ns // _HOUR_NS, {})
            step = round(math.log2(latency_ns) * _STEPS)
            counts[step] = counts.get(step, 0) + 1
            for hour in [hour for hour in self.hours if hour <= start_ns // _HOUR_NS - _HOURS]:
                del self.hours[hour]

    def median_ns(self) -> int | None:
        """Return what is normal, or None while too few windows are known."""
        if not self._counted:
            self._median_ns, self._counted = self._count(), True
        return self._median_ns

    def _count(self) -> int | None:
        counts: dict[int, int] = {}
        for of_hour in self.hours.values():
            for step, count in of_hour.items():
                counts[step] = counts.get(step, 0) + count
        total = sum(counts.values())
        if total < LEAST:
            return None
        seen = 0
        for step in sorted(counts):
            seen += counts[step]
            if 2 * seen >= total:
                return round(2 ** (step / _STEPS))
        return None
