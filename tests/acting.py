"""Actions without a network: a clock that a test moves, and an executor that writes down what it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.actions.by_hand import read
from deploy.actions.steps import Result, Steps, Within
from deploy.topology.action import Action
from deploy.topology.action_kinds import KINDS

_SECOND_NS = 1_000_000_000
PATIENCE_SECONDS = 60.0


def action(do: str, what: str, **fields: object) -> Action:
    """An action as a file has it, `for` called `lasts`."""
    if "lasts" in fields:
        fields["for"] = fields.pop("lasts")
    return read({"do": do, "what": what, **fields})


class MovedClock:
    """Stands still but for `step`."""

    def __init__(self) -> None:
        self._now_ns = 0
        self._waiting: dict[int, int | None] = {}
        self._changed = threading.Condition()

    def now_ns(self) -> int:
        return self._now_ns + 1_800_000_000 * _SECOND_NS

    def steady_ns(self) -> int:
        return self._now_ns

    @property
    def seconds(self) -> float:
        return self._now_ns / _SECOND_NS

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        with self._changed:
            due_ns = None if seconds is None else self._now_ns + round(seconds * _SECOND_NS)
            self._waiting[threading.get_ident()] = due_ns
            self._changed.notify_all()
            while not event.is_set() and (due_ns is None or self._now_ns < due_ns):
                self._changed.wait(0.01)
            del self._waiting[threading.get_ident()]
            self._changed.notify_all()
            return event.is_set()

    def wait_for(self, waiting: int) -> None:
        """Return when so many threads wait."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._waiting) == waiting, PATIENCE_SECONDS)

    def step(self, waiting: int) -> None:
        """When so many threads wait, go on to the moment for which the first of them does."""
        self.wait_for(waiting)
        with self._changed:
            self._now_ns = min(due_ns for due_ns in self._waiting.values() if due_ns is not None)
            self._changed.notify_all()
            # Those whose time has come leave before the next step counts who waits.
            assert self._changed.wait_for(self._nobody_late, PATIENCE_SECONDS)

    def _nobody_late(self) -> bool:
        return all(due_ns is None or due_ns > self._now_ns for due_ns in self._waiting.values())


@dataclass(frozen=True)
class WrittenStep:
    text: str
    write: Callable[[str, Within], None]
    lasts: bool = False

    def carry_out(self, within: Within) -> Result:
        self.write(self.text, within)
        return Result(status=0, output=f"{self.text} was done")


@dataclass
class WritingExecutor:
    """Has what was done and when; `doing` is called for each step first, and may raise or hang."""

    clock: MovedClock
    doing: Callable[[str, Within], None] = lambda _text, _within: None
    done: list[tuple[float, str]] = field(default_factory=list)

    def steps(self, action: Action) -> Steps:
        undo = KINDS[action.do].undo
        return Steps(self._step(action.do, action), self._step(undo, action) if undo else None)

    def called(self, what: str) -> str:
        return f"{'link' if '--' in what else 'router'} {what}"

    def _step(self, verb: str, action: Action) -> WrittenStep:
        return WrittenStep(f"{verb} {action.what}", self._write)

    def _write(self, text: str, within: Within) -> None:
        self.doing(text, within)
        self.done.append((self.clock.seconds, text))
