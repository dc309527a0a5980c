"""One thing to do, as data that a note can hold, and how it is done within its time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Result:
    """What came of a step: the exit status of a program, the end of what it wrote, and when it was done."""

    status: int | None = None
    output: str = ""
    began_ns: int = 0
    ended_ns: int = 0


class FailedError(Exception):
    """A step was not done, or not to its end; the text says why."""

    def __init__(self, text: str, result: Result | None = None) -> None:
        super().__init__(text)
        self.result = result


class NotBegunError(FailedError):
    """Nothing of the step was done: there is nothing to undo."""


class GoneError(NotBegunError):
    """What it would be done to is gone, with all that was done to it."""


@dataclass(frozen=True)
class Within:
    """A step's time, an event that ends it earlier, and a mark that programs which it starts carry."""

    seconds: float
    stopping: threading.Event
    mark: str = ""


class Step(Protocol):
    """One thing to do. `lasts` says that its effect outlives this process, so that a note has to be kept."""

    @property
    def lasts(self) -> bool: ...

    def carry_out(self, within: Within) -> Result:
        """Do it; raises FailedError, after the seconds and a little more at the latest."""


@dataclass(frozen=True)
class Steps:
    """How an action is done, and undone; `check` changes nothing, and says whether it can be done."""

    do: Step
    undo: Step | None = None
    check: Step | None = None
