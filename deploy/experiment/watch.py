"""Looks at a run about once a second: what would make its figures worthless, and what is not safe."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment.form import Stop
from deploy.experiment.load import Load
from deploy.experiment.measuring import Measuring
from deploy.experiment.memory import Memory

_EVERY_SECONDS: Final = 1.0
_STILL_SECONDS: Final = 300.0  # without a message; what is done to a network on purpose is over by then


class Watch:
    def __init__(
        self,
        stop: Stop,
        supervisor: Supervisor,
        load: Load,
        measuring: Measuring,
        memory: Memory,
        folder: Path,
    ) -> None:
        self._stop, self._supervisor, self._load = stop, supervisor, load
        self._measuring, self._memory, self._folder = measuring, memory, folder
        self._before = measuring.decided()  # of an earlier load on the same network
        self._next = 0.0
        self._moved, self._moved_at = -1, time.monotonic()

    def look(self) -> str | None:
        """Return why the run has to stop for safety, or None; raises Problem where it cannot be trusted."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + _EVERY_SECONDS
        self._supervisor.check()
        for problem in (self._load.problem(), self._measuring.problem()):
            if problem is not None:
                raise Problem(problem)
        self._memory.look()
        return self._unsafe() or self._still(now)

    def _unsafe(self) -> str | None:
        stop = self._stop
        if stop.lost is not None and (share := self._lost_share()) > stop.lost:
            return f"{share:.2%} are lost, and {stop.lost:.2%} is the bound"
        if stop.memory is not None and (above := self._memory.above(stop.memory)) is not None:
            return above
        free = shutil.disk_usage(self._folder).free
        if free < stop.disk:
            return f"{free:,} bytes of disk are free, and {stop.disk:,} is the bound"
        return None

    def _lost_share(self) -> float:
        return self._measuring.decided().less(self._before).lost_share

    def _still(self, now: float) -> str | None:
        if (moved := self._load.progress()) != self._moved:
            self._moved, self._moved_at = moved, now
        if now - self._moved_at < _STILL_SECONDS:
            return None
        return f"no message was sent or received for {_STILL_SECONDS:g} s"
