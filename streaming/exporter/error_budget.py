"""What is left of the messages that an objective lets fail in 30 days."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

DAYS: Final = 30
DAY_NS: Final = 86_400 * 10**9


class Day(NamedTuple):
    """A day since 1970, and the counters of all and of good messages as its first window was counted."""

    day: int
    total: int
    good: int


@dataclass(slots=True)
class ErrorBudget:
    """The counters at the beginning of each of the last 30 days with messages, today among them."""

    days: list[Day] = field(default_factory=list)
    left: float | None = None  # 1 where all messages were good, below 0 where too many were not
    overspent_since_ns: int | None = None  # the window with which it fell below 0

    def begin(self, start_ns: int, total: int, good: int) -> None:
        """Take the counters as they are before the window that begins at `start_ns` is counted."""
        today = start_ns // DAY_NS
        if not self.days or self.days[-1].day < today:
            self.days.append(Day(today, total, good))
            while self.days[0].day <= today - DAYS:
                del self.days[0]

    def end(self, start_ns: int, total: int, good: int, objective_ratio: float) -> None:
        """Take the counters with that window."""
        self.left = self._left(total, good, objective_ratio)
        if self.left is None or self.left >= 0:
            self.overspent_since_ns = None
        elif self.overspent_since_ns is None:
            self.overspent_since_ns = start_ns

    def _left(self, total: int, good: int, objective_ratio: float) -> float | None:
        """Return None before the first message."""
        total, good = total - self.days[0].total, good - self.days[0].good
        return round(1 - (total - good) / total / (1 - objective_ratio), 9) if total else None
