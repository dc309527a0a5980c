"""One mesh or broker that is polled again and again: when, with what results, and what is logged of it."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

from collectors.polling.context import PollContext
from collectors.polling.poll_metrics import PollResult
from collectors.polling.schedule import PollSchedule, Stop
from collectors.process.trouble import Trouble

log: Final = logging.getLogger("inflight.collect")

STALE_INTERVALS: Final = 3  # metric values that are older are not shown
MAX_KINDS: Final = 1000


class PolledTarget:
    """It is told how each poll ends, by the thread that polls; `tried` is true once one has ended."""

    def __init__(self, collector: str, name: str, title: str, interval_ns: int, context: PollContext) -> None:
        self.title = title
        self.tried = False
        self._key = (collector, name)
        self._context = context
        self._stood_still = context.standstill_check()
        self._schedule = PollSchedule(interval_ns / 1e9, time.monotonic())
        self._trouble = Trouble(log)
        context.poll_metrics.add_target(self._key)

    @property
    def due_seconds(self) -> float:
        return self._schedule.due_seconds

    @property
    def deadline_seconds(self) -> float:
        return self._schedule.deadline_seconds

    @property
    def in_trouble(self) -> bool:
        return self._trouble.text is not None

    def wait(self, stop: Stop) -> bool:
        """Wait until the next poll is due; return whether to stop instead."""
        return stop.wait(max(0.0, self.due_seconds - time.monotonic()))

    def took(self, seconds: float) -> None:
        self._context.poll_metrics.observe_seconds(self._key, seconds)

    def answered(self) -> None:
        """Forget standstills until now: the poll succeeded all the same."""
        self._stood_still()

    def succeeded(self, faults: Counter[str], through: str = "") -> None:
        self._context.poll_metrics.count_result(self._key, "ok", faults)
        self._schedule.succeeded(time.monotonic())
        self._trouble.over(f"{self.title}: polled again{through}")
        self.tried = True

    def failed_by_standstill(self, text: str) -> bool:
        """Return whether this process stood still during the poll: then the target is not at fault."""
        if not self._stood_still():
            return False
        log.info("%s: %s, while this process stood still; polled again at once", self.title, text)
        return True

    def failed(self, result: PollResult, text: str) -> None:
        """Call it last: who sees the result counted finds the failure shown and published."""
        self._schedule.failed(time.monotonic())
        self._trouble.tell(f"{self.title}: {text}")
        self._context.poll_metrics.count_result(self._key, result)
        self.tried = True


class FaultLog:
    """Logs each kind of fault in replies once, and again only when a thousand others came between."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._told: deque[str] = deque(maxlen=MAX_KINDS)

    def warn(self, notes: Iterable[str]) -> None:
        """Log notes of the form `what: which: details`, of which the first two parts are the kind."""
        for note in notes:
            kind = " ".join(note.split(": ", 2)[:2])
            if kind not in self._told:
                self._told.append(kind)
                log.warning(
                    "%s: %s (told once; counted in inflight_collector_bad_replies_total)", self._title, note
                )
