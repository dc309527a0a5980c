"""What is done to the network while it is measured, beside it, by the actions of the plan."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from collectors.process.worker import Worker
from deploy.actions.executor import Executor
from deploy.actions.performance import Done, Mark, Tell
from deploy.actions.player import play
from deploy.errors import Problem
from deploy.topology.action import Action


class Acting:
    """Begins at once. What still stands when it is ended is undone."""

    def __init__(self, actions: Sequence[Action], executor: Executor, mark: Mark, tell: Tell) -> None:
        self._stopping = threading.Event()
        self._found: list[Done] = []
        self._actions = actions
        self._worker = Worker("actions", partial(self._play, executor, mark, tell), again=False)
        if actions:
            self._worker.start()

    def _play(self, executor: Executor, mark: Mark, tell: Tell) -> None:
        try:
            self._found = play(self._actions, executor, mark, self._stopping, tell)
        except Problem as problem:
            raise RuntimeError(problem.message) from None

    @property
    def over(self) -> bool:
        """Whether all was done, and undone."""
        return not self._actions or self._worker.ended.is_set()

    def end(self) -> None:
        """Undo what goes on; return when that is done."""
        self._stopping.set()
        if self._actions:
            self._worker.join()

    def done(self) -> list[Done]:
        """Return what became of each; raises Problem where they could not be done at all."""
        if self._worker.problem is not None:
            raise Problem(f"the actions of the plan cannot be done: {self._worker.problem}")
        return self._found


def in_short(done: Done) -> dict[str, Any]:
    """Return an action as a run's summary has it."""
    return {
        "name": done.action.do,
        "what": done.action.what,
        "began_ns": done.began_ns,
        "ended_ns": done.ended_ns,
        "problem": done.left or done.problem,
    }


def in_full(done: Done) -> dict[str, Any]:
    """Return it with what its programs wrote."""
    return {**in_short(done), "results": [asdict(result) for result in done.results]}
