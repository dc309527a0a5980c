"""When to poll: at an interval, from a start of one's own, and less often where it fails."""

from __future__ import annotations

import random
import socket
import threading
from typing import Final

MAX_BACKOFF_SECONDS: Final = 60.0
MAX_BACKOFF_INTERVALS: Final = 6
DEADLINE_SHARE: Final = 0.8  # of the interval, for a poll
MAX_DEADLINE_SECONDS: Final = 30.0


class Stop(threading.Event):
    """Told once, seen by every thread: as an event, and as a socket that becomes readable."""

    def __init__(self) -> None:
        super().__init__()
        self.socket, self._other = socket.socketpair()

    def set(self) -> None:
        if not self.is_set():
            super().set()
            self._other.send(b"x")


class Pace:
    """The next moment to poll; all times are those of one steady clock, in seconds."""

    def __init__(self, interval_seconds: float, now: float, rng: random.Random | None = None) -> None:
        self._interval = interval_seconds
        self._rng = rng or random.Random()  # noqa: S311 -- spreads load, hides nothing
        # A thousand targets are not asked at the same instant.
        self._next = now + self._rng.uniform(0, min(interval_seconds, 2.0))
        self._failures = 0

    @property
    def deadline_seconds(self) -> float:
        """How long a poll may take: the interval's larger part, so that the next is never met by it."""
        return min(self._interval * DEADLINE_SHARE, MAX_DEADLINE_SECONDS)

    def next(self) -> float:
        return self._next

    def succeeded(self, now: float) -> None:
        self._failures = 0
        missed = max(0, int((now - self._next) // self._interval))
        self._next += (missed + 1) * self._interval

    def failed(self, now: float) -> None:
        """Wait twice as long with each failure in a row, up to a bound, and never in step with others."""
        self._failures += 1
        most = max(min(MAX_BACKOFF_SECONDS, MAX_BACKOFF_INTERVALS * self._interval), self._interval)
        wait = min(self._interval * 2 ** min(self._failures - 1, 16), most)
        self._next = now + wait * self._rng.uniform(0.75, 1.0)
