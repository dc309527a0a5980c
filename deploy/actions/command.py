"""Actions by a program of this machine: ready templates for what often runs routers, or the user's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from collectors.process import wall_clock
from deploy.actions import source
from deploy.actions.program import Run
from deploy.actions.steps import FailedError, Result, Steps, Within
from deploy.errors import Problem
from deploy.topology.action import Action, Source
from deploy.topology.action_kinds import KINDS

_MS_NS: Final = 1_000_000
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_DOCKER: Final = {
    "kill": "{program} kill {part}",
    "stop": "{program} stop {part}",
    "start": "{program} start {part}",
    "restart": "{program} restart {part}",
    "pause": "{program} pause {part}",
    "resume": "{program} unpause {part}",
}
# By name, then by what is done. {part} is the container, the unit, or the deployment of one replica.
TEMPLATES: Final[Mapping[str, Mapping[str, str]]] = {
    "docker": {verb: text.replace("{program}", "docker") for verb, text in _DOCKER.items()},
    "podman": {verb: text.replace("{program}", "podman") for verb, text in _DOCKER.items()},
    "systemctl": {
        "kill": "systemctl kill --signal=SIGKILL {part}",
        "stop": "systemctl stop {part}",
        "start": "systemctl start {part}",
        "restart": "systemctl restart {part}",
        "pause": "systemctl kill --signal=SIGSTOP {part}",
        "resume": "systemctl kill --signal=SIGCONT {part}",
    },
    "kubectl": {
        "stop": "kubectl scale deployment/{part} --replicas=0",
        "start": "kubectl scale deployment/{part} --replicas=1",
        "restart": "kubectl rollout restart deployment/{part}",
    },
}


class Template:
    """Actions by a template: a name of TEMPLATES, or a command with {part} and {verb} in it."""

    def __init__(self, template: str) -> None:
        self._template = template
        if template not in TEMPLATES and "{part}" not in template:
            ready = ", ".join(TEMPLATES)
            raise Problem(f"{template!r} is none of {ready}, and no command with {{part}} and {{verb}} in it")

    def steps(self, action: Action) -> Steps:
        undo = KINDS[action.do].undo
        return Steps(
            Run(argv=self.argv(action.do, action)), Run(argv=self.argv(undo, action)) if undo else None
        )

    def called(self, what: str) -> str:
        return what

    def argv(self, verb: str, action: Action) -> tuple[str, ...]:
        """Return the command line; each word of the template stays one word, whatever is put into it."""
        ready = TEMPLATES.get(self._template)
        if ready is not None and verb not in ready:
            raise Problem(f"{self._template} has no way to {verb}; it has {', '.join(ready)}")
        values = {"part": action.what, "verb": verb, **{k: str(v) for k, v in action.fields.items()}}
        try:
            words = shlex.split(self._template if ready is None else ready[verb])
        except ValueError as error:
            raise Problem(f"the template {self._template!r} is no command line: {error}") from None
        return tuple(_filled(word, values) for word in words)


class SetClock(BaseModel):
    """How far the wall clock of Inflight's processes that watch this file is ahead, as a step."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: Literal["clock"] = "clock"
    file: Path
    offset_ns: int
    lasts: ClassVar[bool] = True

    def carry_out(self, _within: Within) -> Result:
        try:
            wall_clock.write(self.file, self.offset_ns)
        except OSError as error:
            raise FailedError(f"{self.file} cannot be written: {error.strerror}") from None
        return Result()


class Clocks:
    """Actions `clock`: what is wrong with it stands in a file, and the file is taken back to nothing."""

    def __init__(self, beside: Path) -> None:
        """The file is looked up from `beside`."""
        self._beside = beside

    def steps(self, action: Action) -> Steps:
        if action.file is None or action.offset_ms is None:
            raise Problem(f"{action.do} is of no clock")
        file = (self._beside / action.file.expanduser()).absolute()
        return Steps(
            SetClock(file=file, offset_ns=round(action.offset_ms * _MS_NS)), SetClock(file=file, offset_ns=0)
        )

    def called(self, what: str) -> str:
        return what


@dataclass(frozen=True)
class _AsCommitted:
    """That a folder is still as its commit has it, just before something of it is run."""

    source: Source
    beside: Path
    lasts = False

    def carry_out(self, _within: Within) -> Result:
        try:
            source.folder(self.source, self.beside)
        except Problem as problem:
            raise FailedError(problem.message) from None
        return Result()


class Commands:
    """Actions `command`: the user's own program, and the one that undoes what it did."""

    def __init__(self, beside: Path) -> None:
        """Folders are looked up from `beside`."""
        self._beside = beside

    def steps(self, action: Action) -> Steps:
        if action.run is None:
            raise Problem(f"{action.do} is no command")
        place = source.folder(action.source, self._beside) if action.source else self._beside
        do = self._step(action.run, action, place)
        undo = self._step(action.undo, action, place) if action.undo else None
        return Steps(do, undo, _AsCommitted(action.source, self._beside) if action.source else None)

    def called(self, what: str) -> str:
        return what

    @staticmethod
    def _step(argv: tuple[str, ...], action: Action, place: Path) -> Run:
        words = tuple(_filled(word, {"part": action.what}) for word in argv)
        if words[0].startswith("./"):
            words = (str(place / words[0]), *words[1:])
        return Run(argv=words, folder=place.absolute(), secrets=action.secrets)


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with what stands in braces put in; other braces stay as they are."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), word)
