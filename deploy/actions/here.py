"""Actions on the parts of a lab: one of this process, or one that another process keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from collectors.process.worker import Worker
from collectors.router.topology import EXPECT_SEPARATOR
from deploy.actions.steps import FailedError, GoneError, Result, Steps, Within
from deploy.embedded.supervise.process import Interrupted
from deploy.errors import Problem
from deploy.topology.action import Action
from deploy.topology.action_kinds import KINDS


class Network(Protocol):
    """What is asked of a `deploy.lab.lab.Lab`."""

    @property
    def routers(self) -> Mapping[str, object]: ...

    @property
    def brokers(self) -> Mapping[str, object]: ...

    @property
    def verbs(self) -> frozenset[str]: ...

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Do it; raises Problem."""


class InProcess:
    """Actions on a lab of this process, which ends with it: no notes are needed."""

    def __init__(self, lab: Network) -> None:
        self._lab = lab

    def steps(self, action: Action) -> Steps:
        if action.do not in self._lab.verbs:
            raise Problem(f"this lab cannot: it can {', '.join(sorted(self._lab.verbs))}")
        do, undo = commands(action)
        return Steps(_Call(self._lab, do), _Call(self._lab, undo) if undo else None)

    def called(self, what: str) -> str:
        return called(
            what, {**dict.fromkeys(self._lab.routers, "router"), **dict.fromkeys(self._lab.brokers, "broker")}
        )


def called(what: str, kinds: Mapping[str, str]) -> str:
    """Return how a part or link is called in sentences; `kinds` has what each part is."""
    return f"{'link' if EXPECT_SEPARATOR in what else kinds.get(what, 'part')} {what}"


def commands(action: Action) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what a lab is told to do an action, and to undo it; raises Problem where a lab cannot."""
    kind = KINDS[action.do]
    if action.do == "command":
        raise Problem("a command is not of a lab")
    whom = {"link" if kind.of == "link" else "part": action.what}
    do = {"do": action.do, **whom, **action.fields}
    if kind.undo is None:
        return do, None
    which = {"fault": action.do} if kind.undo == "clear" else {}
    return do, {"do": kind.undo, **whom, **which}


@dataclass(frozen=True)
class _Call:
    """A command to a lab of this process."""

    lab: Network
    command: Mapping[str, Any]
    lasts = False

    def carry_out(self, bounds: Within) -> Result:
        ending: list[Interrupted] = []

        def tell() -> None:
            try:
                self.lab.tell(self.command)
            except Interrupted as error:
                ending.append(error)

        within(bounds, f"lab {self.command['do']}", tell)
        if ending:
            raise GoneError("the lab is ending")
        return Result()


def within(bounds: Within, name: str, call: Callable[[], object]) -> None:
    """Call what cannot be interrupted, and wait no longer than that; a Problem is a FailedError here."""
    failed: list[str] = []

    def work() -> None:
        try:
            call()
        except Problem as problem:
            failed.append(problem.message)

    worker = Worker(name, work, again=False)
    worker.start()
    if not worker.ended.wait(bounds.seconds):
        raise FailedError(f"not done within {bounds.seconds:g} s")
    if failed or worker.problem:
        raise FailedError(failed[0] if failed else str(worker.problem))
