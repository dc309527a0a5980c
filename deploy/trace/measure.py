"""Round trips to one router: which were answered, and how long they took. Pure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Final

SILENT_AFTER: Final = 3  # so many requests in a row without an answer are no accident
_PERCENT: Final = 100


@dataclass(slots=True)
class RoundTrips:
    """Requests by their tags; an answer that comes late still belongs to its own request."""

    sent: int = 0
    times_ns: list[int] = field(default_factory=list)
    _waiting: dict[str, tuple[int, int]] = field(default_factory=dict)  # tag -> number, time
    _last_answered: int = 0

    def send(self, tag: str, now_ns: int) -> None:
        self.sent += 1
        self._waiting[tag] = (self.sent, now_ns)

    def __contains__(self, tag: str) -> bool:
        return tag in self._waiting

    def answer(self, tag: str, now_ns: int) -> None:
        number, at_ns = self._waiting.pop(tag)
        self.times_ns.append(max(0, now_ns - at_ns))
        self._last_answered = max(self._last_answered, number)

    def lose(self, tag: str) -> None:
        """Take in that a request came back undelivered."""
        self._waiting.pop(tag, None)

    def open(self, now_ns: int, timeout_ns: int) -> int:
        """Return how many may still be answered in time."""
        return sum(1 for _, at_ns in self._waiting.values() if now_ns - at_ns < timeout_ns)

    def missing(self, now_ns: int, timeout_ns: int) -> float | None:
        """Return the percentage without an answer of those whose time is over; None if there is none."""
        judged = self.sent - self.open(now_ns, timeout_ns)
        return _PERCENT * (judged - len(self.times_ns)) / judged if judged > 0 else None

    def silent(self, now_ns: int, timeout_ns: int) -> bool:
        """Whether the router has answered nothing, or nothing of late."""
        judged = self.sent - self.open(now_ns, timeout_ns)
        late = judged - self._last_answered
        return judged > 0 and (not self.times_ns or late >= SILENT_AFTER)

    @property
    def best_ns(self) -> int | None:
        return min(self.times_ns, default=None)

    @property
    def median_ns(self) -> int | None:
        return round(statistics.median(self.times_ns)) if self.times_ns else None

    def percentile_ns(self, percent: int) -> int | None:
        """Return the least time that so many percent of the answers took at the most."""
        if not self.times_ns:
            return None
        ordered = sorted(self.times_ns)
        return ordered[max(0, -(-percent * len(ordered) // _PERCENT) - 1)]
