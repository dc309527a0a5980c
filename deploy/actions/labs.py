"""Actions on a lab that another process keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from collectors.router.topology import EXPECT_SEPARATOR
from deploy.actions.here import called, commands, within
from deploy.actions.steps import FailedError, GoneError, Result, Steps, Within
from deploy.errors import Problem
from deploy.lab import client
from deploy.lab.client import LabRecord
from deploy.lab.record import ProcessId
from deploy.topology.action import Action


class Ask(BaseModel):
    """A command to one lab, told from a later one in the same folder by its keeper."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: Literal["lab"] = "lab"
    folder: Path
    keeper: ProcessId
    command: dict[str, Any]
    lasts: ClassVar[bool] = True

    def carry_out(self, bounds: Within) -> Result:
        lab = self._lab()
        if lab is None:
            raise GoneError(f"the lab in {self.folder} is gone")
        try:
            within(bounds, f"lab {self.command['do']}", lambda: lab.ask(self.command))
        except FailedError:
            if self._lab() is None:
                raise GoneError(f"the lab in {self.folder} has ended") from None
            raise
        return Result()

    def _lab(self) -> LabRecord | None:
        """Return the lab, if it is still the same, its keeper lives, and does not end it."""
        try:
            lab = client.at(self.folder)
        except Problem:
            return None
        if lab is None or lab.record.keeper != self.keeper or self.keeper.state() == "gone":
            return None
        return None if lab.record.state == "ending" else lab


class KeptLab:
    """The lab as it was found."""

    def __init__(self, lab: LabRecord) -> None:
        self._lab = lab
        parts = lab.record.parts
        self._kinds = {part.name: part.kind for part in parts if EXPECT_SEPARATOR not in part.name}

    def steps(self, action: Action) -> Steps:
        known = [*self._kinds, *self._lab.record.links]
        if action.what not in known:
            raise Problem(f"the lab {self._lab.name} has no {action.what}; it has {', '.join(known)}")
        if action.do not in self._lab.record.verbs:
            raise Problem(f"the lab {self._lab.name} cannot: it can {', '.join(self._lab.record.verbs)}")
        do, undo = commands(action)
        return Steps(self._ask(do), self._ask(undo) if undo else None, check=self._ask({"do": "status"}))

    def called(self, what: str) -> str:
        return called(what, self._kinds)

    def _ask(self, command: dict[str, Any]) -> Ask:
        return Ask(folder=self._lab.folder.absolute(), keeper=self._lab.record.keeper, command=command)
