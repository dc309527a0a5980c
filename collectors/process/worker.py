"""Threads that live as long as their process, and say so when they fail."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger("inflight.worker")
_BACKOFF_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
_STEADY_SECONDS: Final = 60.0  # after so long at work an earlier failure is forgotten


class Worker:
    """Runs `work` in a thread until it returns; to make it return is the owner's affair.

    When `work` raises, that is logged, `problem` says so, and `work` begins again after a while. With
    `again=False` it stays ended, and the owner has to end the process with `problem` as the reason.
    """

    def __init__(self, name: str, work: Callable[[], None], *, again: bool = True) -> None:
        self.name: Final = name
        self.ended: Final = threading.Event()
        self._work, self._again = work, again
        self._failure: str | None = None
        self._began = 0.0
        self._joined = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float | None = None) -> bool:
        """Waits for `work` to return, which does not begin again; returns whether it did so in time."""
        self._joined.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def problem(self) -> str | None:
        """Says how it failed, until it has been at work again for a minute."""
        failure = self._failure
        if failure is None or (not self.ended.is_set() and self._steady()):
            return None
        return failure

    def _steady(self) -> bool:
        return time.monotonic() - self._began > _STEADY_SECONDS

    def _run(self) -> None:
        waits = iter(_BACKOFF_SECONDS)
        told: set[str] = set()
        while True:
            self._began = time.monotonic()
            try:
                self._work()
                break
            except BaseException as error:  # noqa: BLE001 -- whatever it is, it must not be silent
                if self._steady():
                    waits = iter(_BACKOFF_SECONDS)
                    told.clear()
                wait = next(waits, _BACKOFF_SECONDS[-1])
                self._failed(error, told, wait)
            self._began = float("inf")  # not at work
            if not self._again or self._joined.wait(wait):
                break
        self.ended.set()

    def _failed(self, error: BaseException, told: set[str], wait: float) -> None:
        cause = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        self._failure = f"the thread {self.name} failed: {cause}"
        if cause not in told:
            told.add(cause)
            then = f"it begins again after {wait:g} s" if self._again else "it cannot go on"
            _log.error("%s; %s", self._failure, then, exc_info=error)


def joined(*problems: str | None) -> str | None:
    """Joins the problems that there are into one text; None when there are none."""
    return "; ".join(filter(None, problems)) or None
