"""The time of actions, which tests replace."""

from __future__ import annotations

import threading
import time
from typing import Final, Protocol

_LOOK_SECONDS: Final = 0.2


class Clock(Protocol):
    def now_ns(self) -> int:
        """The time of day, of events."""

    def steady_ns(self) -> int:
        """A time that only goes on."""

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """Wait until the event is set, so long at the most; return whether it is."""


class RealClock:
    def now_ns(self) -> int:
        return time.time_ns()

    def steady_ns(self) -> int:
        return time.monotonic_ns()

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """In steps: a signal may come to a thread that does not handle it, and then wakes nobody."""
        until = None if seconds is None else time.monotonic() + seconds
        while not event.is_set():
            left = _LOOK_SECONDS if until is None else min(_LOOK_SECONDS, until - time.monotonic())
            if left <= 0:
                return False
            event.wait(left)
        return True
