"""Plays a story: its actions each in its time, beside each other, none waiting for another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from collectors.process.worker import Worker
from deploy.actions.clock import Clock, RealClock
from deploy.actions.executor import Executor
from deploy.actions.notes import Notes
from deploy.actions.performance import Around, Done, Mark, Tell, perform
from deploy.actions.steps import Steps
from deploy.topology.action import Action

_LOOK_SECONDS: Final = 0.2
_SECOND_NS: Final = 1_000_000_000
_Told = TypeVar("_Told")


class _Played:
    """One action of a story, in a thread of its own."""

    def __init__(self, action: Action, steps: Steps, around: Around) -> None:
        self._action, self._steps, self._around = action, steps, around
        self._done: Done | None = None
        self._worker = Worker(f"action {action.do} {action.what}", self._work, again=False)
        self._worker.start()

    def _work(self) -> None:
        self._done = perform(self._action, self._steps, self._around)

    def result(self) -> Done:
        """Wait for its end, and return what became of it."""
        while not self._worker.join(_LOOK_SECONDS):
            pass  # in steps, as in RealClock.wait
        return self._done or Done(self._action, problem=self._worker.problem)


def play(
    actions: Sequence[Action],
    executor: Executor,
    mark: Mark,
    stopping: threading.Event,
    tell: Tell,
    *,
    notes: Notes | None = None,
    clock: Clock | None = None,
) -> list[Done]:
    """Do each action so long after now as it says; return when all that were begun are over and undone.

    Raises Problem before anything is done where one of them cannot be. One with no `for` stands until
    `stopping`. What fails is told, and the others go on. `mark` gets each action's event, when it begins and
    again with its end; it and `tell` are called by one thread at a time.
    """
    clock = clock or RealClock()
    around = Around(executor, _in_turn(mark), _in_turn(tell), stopping, notes or Notes.of_user(), clock)
    prepared = [(action, executor.steps(action)) for action in sorted(actions, key=lambda one: one.after)]
    began_ns = clock.steady_ns()
    played: list[_Played] = []
    try:
        for action, steps in prepared:
            wait_ns = began_ns + action.after - clock.steady_ns()
            if clock.wait(stopping, max(0, wait_ns) / _SECOND_NS):
                break
            played.append(_Played(action, steps, around))
        return [one.result() for one in played]
    except BaseException:
        stopping.set()
        for one in played:
            one.result()
        raise


def _in_turn(call: Callable[[_Told], None]) -> Callable[[_Told], None]:
    lock = threading.Lock()

    def in_turn(told: _Told) -> None:
        with lock:
            call(told)

    return in_turn
