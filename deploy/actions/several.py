"""Each action by the executor that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deploy.actions.command import Clocks, Commands, Template
from deploy.actions.executor import Executor
from deploy.actions.steps import Steps
from deploy.errors import Problem
from deploy.topology.action import HERE, SSH, Action


class Several:
    """`usual` does what names no executor, `named` what says `by: here` or `by: ssh`, templates the rest.

    Commands of the user's run in folders that are looked up from `beside`.
    """

    def __init__(self, usual: Executor, named: Mapping[str, Executor], beside: Path) -> None:
        self._usual, self._named = usual, named
        self._own: dict[str, Executor] = {"command": Commands(beside), "clock": Clocks(beside)}

    def steps(self, action: Action) -> Steps:
        return self._executor(action).steps(action)

    def called(self, what: str) -> str:
        return self._usual.called(what)

    def _executor(self, action: Action) -> Executor:
        if action.do in self._own:
            return self._own[action.do]
        if action.by is None:
            return self._usual
        if action.by in {HERE, SSH}:
            if action.by not in self._named:
                raise Problem(f"{action.do} {action.what}: `by: {action.by}` is not possible here")
            return self._named[action.by]
        return Template(action.by)
