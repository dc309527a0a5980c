"""When to poll: at an interval, from a random start, and less often after failures."""

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
    """Tells all threads to stop: an event, and a socket that becomes readable."""

    def __init__(self) -> None:
        super().__init__()
        self.socket, self._sender = socket.socketpair()

    def set(self) -> None:
        if not self.is_set():
            super().set()
            self._sender.send(b"x")


class PollSchedule:
    """Says when the next poll is due; all times are seconds of one steady clock."""

    def __init__(self, interval_seconds: float, now: float, rng: random.Random | None = None) -> None:
        self._interval = interval_seconds
        self._rng = rng or random.Random()  # noqa: S311 -- spreads load, hides nothing
        # A thousand targets are not asked at the same instant.
        self._next = now + self._rng.uniform(0, min(interval_seconds, 2.0))
        self._failures = 0

    @property
    def deadline_seconds(self) -> float:
        """How long a poll may take, so that it is over before the next one begins."""
        return min(self._interval * DEADLINE_SHARE, MAX_DEADLINE_SECONDS)

    @property
    def due_seconds(self) -> float:
        return self._next

    def succeeded(self, now: float) -> None:
        self._failures = 0
        missed = max(0, int((now - self._next) // self._interval))
        self._next += (missed + 1) * self._interval

    def failed(self, now: float) -> None:
        """Wait twice as long after each failure in a row, up to a bound, out of step with other targets."""
        self._failures += 1
        most = max(min(MAX_BACKOFF_SECONDS, MAX_BACKOFF_INTERVALS * self._interval), self._interval)
        wait = min(self._interval * 2 ** min(self._failures - 1, 16), most)
        self._next = now + wait * self._rng.uniform(0.75, 1.0)
