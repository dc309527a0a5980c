"""A clock that stands still while this process does: what could not be refreshed then does not grow older."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from collectors.process.worker import Worker

_TICK_SECONDS: Final = 0.25
_STILL_SECONDS: Final = 1.0  # later than due: the process did not run


class SteadyClock:
    """Seconds since some moment, less those in which the process did not run. Thread-safe, until `close`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, ticking: bool = True) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = clock()
        self._still = 0.0
        self._closed = threading.Event()
        if ticking:
            Worker("steady", self._tick).start()

    def now(self) -> float:
        with self._lock:
            # A caller may notice a standstill before the thread does.
            now = self._clock()
            late = now - self._seen - _TICK_SECONDS
            self._still += late if late > _STILL_SECONDS else 0.0
            self._seen = now
            return now - self._still

    def still_seconds(self) -> float:
        """Returns for how long the process has stood still in total."""
        self.now()
        with self._lock:
            return self._still

    def close(self) -> None:
        """End the thread; from then on a standstill is noticed only by the next call of `now`."""
        self._closed.set()

    def _tick(self) -> None:
        while not self._closed.wait(_TICK_SECONDS):
            self.now()
