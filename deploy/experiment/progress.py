"""How far an experiment is, with the time that is left: lines, on a terminal one that is kept up to date."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from deploy.experiment import words
from deploy.experiment.estimate import spoken
from deploy.experiment.order import Run

_ON_TERMINAL_SECONDS: Final = 1.0
_ELSEWHERE_SECONDS: Final = 60.0


class Progress:
    def __init__(self, say: Callable[[str], None], seconds_of: dict[int, float], runs: int) -> None:
        """`seconds_of`: what each run that is to be carried out is thought to take."""
        self._say, self._left, self._runs = say, dict(seconds_of), runs
        self._began = self._told = time.monotonic()
        self._passed = 0.0  # of runs that are over, and what they were thought to take
        self._thought = 0.0
        self._run: Run | None = None
        self._run_began = 0.0
        self._is_terminal = sys.stderr.isatty()

    def begin(self, run: Run) -> None:
        self._run, self._run_began = run, time.monotonic()
        levels = f", {words.levels(run.levels)}" if run.levels else ""
        of = f"repetition {run.repetition + 1}{levels}"
        self._line(f"run {run.number} of {self._runs}: {of}; about {spoken(self.left_seconds())} left")

    def tell(self, text: str) -> None:
        self._line(f"  {text}")

    def beat(self) -> None:
        """Say from time to time that it goes on; to be called often."""
        now = time.monotonic()
        if now - self._told < (_ON_TERMINAL_SECONDS if self._is_terminal else _ELSEWHERE_SECONDS):
            return
        self._told = now
        left = f"{now - self._run_began:.0f} s of this run; about {spoken(self.left_seconds())} left"
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{left}")
            sys.stderr.flush()
        else:
            self._line(f"  {left}")

    def end(self) -> None:
        if self._run is not None:
            self._passed += time.monotonic() - self._run_began
            self._thought += self._left.pop(self._run.number, 0.0)
            self._run = None

    def left_seconds(self) -> float:
        """Return what is left, by how long the runs that are over took."""
        pace = self._passed / self._thought if self._thought else 1.0
        gone = time.monotonic() - self._run_began if self._run else 0.0
        return max(0.0, sum(self._left.values()) * pace - gone)

    def _line(self, text: str) -> None:
        self._told = time.monotonic()
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._say(f"{self._told - self._began:7.1f} s  {text}")
        sys.stdout.flush()
