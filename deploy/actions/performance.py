"""One action from its begin to its end: noted, marked, done, told, held, undone, told and marked again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from collectors.contract.events import Event
from deploy.actions.clock import Clock
from deploy.actions.executor import Executor
from deploy.actions.notes import Note, Notes
from deploy.actions.steps import FailedError, GoneError, NotBegunError, Result, Step, Steps, Within
from deploy.errors import Problem
from deploy.topology.action import Action
from deploy.topology.action_kinds import KINDS

Mark = Callable[[Event], None]  # returns at once
Tell = Callable[[str], None]
_SECOND_NS: Final = 1_000_000_000


@dataclass
class Done:
    """What became of an action. `problem`: it was not done as told; `left`: it could not be undone."""

    action: Action
    began_ns: int | None = None
    ended_ns: int | None = None
    problem: str | None = None
    left: str | None = None
    results: list[Result] = field(default_factory=list)  # of doing it, and of undoing it


@dataclass(frozen=True)
class Around:
    """What actions that run together share; `stopping` ends them early, each with its undo."""

    executor: Executor
    mark: Mark
    tell: Tell
    stopping: threading.Event
    notes: Notes
    clock: Clock


def perform(action: Action, steps: Steps, around: Around) -> Done:
    """Do an action, hold it for its time or until `stopping`, and undo it."""
    return _Performance(action, steps, around).run()


class _Performance:
    def __init__(self, action: Action, steps: Steps, around: Around) -> None:
        self._action, self._steps, self._around = action, steps, around
        self._kind = KINDS[action.do]
        self._done = Done(action)
        self._began_ns = 0  # of the steady clock
        self._note: Note | None = None

    def run(self) -> Done:
        try:
            event = self._prepared()
        except (Problem, FailedError) as problem:
            self._fail(self._text("{what}: {do} did not begin: ") + _words(problem))
            return self._done
        self._around.mark(event)
        undo = self._steps.undo
        try:
            self._carry_out(self._steps.do, self._around.stopping)
            if undo is not None:
                self._around.tell(event.text)
                seconds = None if self._action.lasts is None else self._action.lasts / _SECOND_NS
                self._around.clock.wait(self._around.stopping, seconds)
        except FailedError as error:
            self._fail(self._text("{what}: {do} failed: ") + str(error))
            if isinstance(error, NotBegunError):
                undo = None
        except BaseException:
            self._undone(undo)
            raise
        if self._undone(undo):
            self._end(event)
        return self._done

    def _prepared(self) -> Event:
        """Return the event; from here on there is a note, where one is needed."""
        action, steps, clock = self._action, self._steps, self._around.clock
        if steps.check is not None:
            self._carry_out(steps.check, self._around.stopping)
            self._done.results.clear()
        event = Event(
            clock.now_ns(), None, action.kind, (), self._text(self._kind.began), action.do, action.what
        )
        if steps.undo is not None and steps.undo.lasts:
            self._note = self._around.notes.write(action, steps.undo, event)
        self._done.began_ns, self._began_ns = event.at_ns, clock.steady_ns()
        return event

    def _carry_out(self, step: Step, stopping: threading.Event) -> None:
        mark = self._note.mark if self._note else ""
        clock, result = self._around.clock, Result()
        began_ns = clock.now_ns()
        try:
            result = step.carry_out(Within(self._action.deadline / _SECOND_NS, stopping, mark))
        except FailedError as error:
            result = error.result or result
            raise
        finally:
            self._done.results.append(replace(result, began_ns=began_ns, ended_ns=clock.now_ns()))

    def _undone(self, undo: Step | None) -> bool:
        """Undo it; return whether nothing of it is left."""
        try:
            if undo is not None:
                self._carry_out(undo, threading.Event())  # who wants to stop waits for this
                if self._done.problem is not None:
                    self._around.tell(self._text("{what}: whatever was done of it is undone"))
        except GoneError as error:
            self._fail(self._text("{what}: nothing is left to undo: ") + str(error))
        except FailedError as error:
            self._done.left = self._text("{what} IS NOT AS IT WAS: {do} could not be undone: ") + str(error)
            self._around.tell(self._done.left)
            if self._note is not None:
                self._note.failed(str(error))
            return False
        if self._note is not None:
            self._note.remove()
        return True

    def _end(self, event: Event) -> None:
        done = self._done
        done.ended_ns = max(self._around.clock.now_ns(), event.at_ns)
        if done.problem is None:
            self._around.tell(self._text(self._kind.over))
        text = self._text("{what}: {do} failed" if done.problem else self._kind.lasted)
        self._around.mark(replace(event, until_ns=done.ended_ns, text=text))

    def _fail(self, text: str) -> None:
        self._done.problem = text
        self._around.tell(text)

    def _text(self, pattern: str) -> str:
        action = self._action
        passed_ns = self._around.clock.steady_ns() - self._began_ns
        return pattern.format(
            **action.model_dump(include={"ms", "bytes_per_second", "to", "percent", "offset_ms"}),
            do=action.do,
            what=self._around.executor.called(action.what),
            time=f"{passed_ns / _SECOND_NS:.1f} s",
            program=PurePath(action.run[0]).name if action.run else "",
        )


def _words(error: Exception) -> str:
    return error.message if isinstance(error, Problem) else str(error)
