"""Labs as whoever uses them sees them: found by name, asked and told through their control sockets."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from deploy import control_socket
from deploy.embedded.supervise import orphans
from deploy.errors import Problem
from deploy.lab import record as records
from deploy.lab.record import Record
from deploy.topology.names import node_name

LABS: Final = Path(".inflight/labs")
CONTROL: Final = "control"
LOGS: Final = "logs"  # of the parts
KEEPER_LOG: Final = "keeper.log"
CONFIG: Final = "inflight.yaml"
PARTS: Final = "parts"  # data of the parts, of no use when they are gone
_SILENT_SECONDS: Final = 10.0
_END_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 8.0
_POLL_SECONDS: Final = 0.05

# `silent`: the keeper is there and does not answer. `gone`: nobody keeps the lab.
Condition = Literal["starting", "up", "ending", "silent", "gone"]


class Silent(Problem):
    """The keeper of a lab is there, and does not answer."""


@dataclass(frozen=True)
class LabRecord:
    """A lab that was started in this folder, and was not ended since."""

    folder: Path
    record: Record

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def config_file(self) -> Path:
        return self.folder / CONFIG

    def ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Tell the lab to do something; raises Problem with its own words, or why it cannot be asked."""
        keeper = self.record.keeper
        if keeper.state() == "gone":
            raise self._gone()
        if keeper.state() == "stopped":
            raise self._silent("it is stopped")
        try:
            answer = control_socket.ask(self.folder / CONTROL, command, silent_seconds=_SILENT_SECONDS)
        except TimeoutError:
            raise self._silent("it does not answer") from None
        except (OSError, ValueError) as error:
            if keeper.state() == "gone":
                raise self._gone() from None
            raise self._silent(f"it cannot be asked: {error}") from None
        if "problem" in answer:
            raise Problem(str(answer["problem"]))
        found = answer.get("ok")
        return found if isinstance(found, dict) else {}

    def look(self) -> tuple[Condition, Record, str]:
        """Return how the lab is, what it last said of itself, and what is wrong with its keeper."""
        try:
            now = Record.model_validate(self.ask({"do": "status"}))
        except Silent as problem:
            return "silent", self._from_outside(), problem.message
        except Problem as problem:
            return "gone", self._from_outside().model_copy(update={"faults": {}}), problem.message
        except ValidationError:
            other = self._silent("it is of another version of Inflight")
            return "silent", self._from_outside(), other.message
        return now.state, now, ""

    def end(self, *, kill: bool) -> None:
        """End the lab, or what is left of it; `kill` asks no keeper. Return when nothing of it runs."""
        if self.record.keeper.state() != "gone":
            if kill:
                self._kill_keeper()
            else:
                self.ask({"do": "down"})
                if not wait_until(self._ended, _END_SECONDS):
                    raise self._silent(f"it has not ended the lab in {_END_SECONDS:g} s")
                return
        # The reaper does the same, unless it was killed, too.
        orphans.end_marked(self._mark, grace_seconds=_GRACE_SECONDS)
        orphans.remove_elsewhere(self.folder)
        clear(self.folder)

    def _from_outside(self) -> Record:
        """Return the record with the states that its processes have."""
        there = set(orphans.marked(self._mark))
        return self.record.model_copy(
            update={"parts": tuple(part.seen(there=part.pid in there) for part in self.record.parts)}
        )

    @property
    def _mark(self) -> str:
        """What the marks of the lab's processes begin with, as its supervisor makes them."""
        return f"{self.folder.resolve()}//"

    def _ended(self) -> bool:
        return self.record.keeper.state() == "gone"

    def _kill_keeper(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self.record.keeper.pid)
            try:
                if not self._ended():  # by now the handle is its own, or that of a later process
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
        if not wait_until(self._ended, _END_SECONDS):
            raise Problem(f"the keeper of {self.name}, pid {self.record.keeper.pid}, outlives SIGKILL")

    def _gone(self) -> Problem:
        return Problem(
            f"the lab {self.name} is gone: its keeper, pid {self.record.keeper.pid}, was killed, or the"
            f" machine began anew; `inflight lab down {self.name}` clears up"
        )

    def _silent(self, why: str) -> Silent:
        return Silent(
            f"the keeper of the lab {self.name}, pid {self.record.keeper.pid}, is no help: {why}."
            f" `kill -CONT {self.record.keeper.pid}` lets one that is stopped go on;"
            f" `inflight lab down --kill {self.name}` ends the lab without it"
        )


def find(name: str | None = None) -> LabRecord:
    """Return the lab of this name, or the only one; raises Problem where there is none, or several."""
    if name is not None:
        lab = at(LABS / checked(name))
        if lab is None:
            raise Problem(f"there is no lab {name} in {LABS.absolute()}{_others()}")
        return lab
    labs = everywhere()
    if not labs:
        raise Problem(f"there is no lab in {LABS.absolute()}: `inflight lab up` starts one")
    if len(labs) > 1:
        raise Problem(f"there are several labs: name one of {', '.join(lab.name for lab in labs)}")
    return labs[0]


def everywhere() -> list[LabRecord]:
    """Return all labs of this folder, by name. A file that cannot be read is no lab."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for folder in sorted(LABS.iterdir()):
            with contextlib.suppress(Problem):
                if (lab := at(folder)) is not None:
                    found.append(lab)
    return found


def at(folder: Path) -> LabRecord | None:
    """Return the lab of a folder, None where there is none."""
    try:
        found = records.read(folder)
    except (OSError, ValueError) as error:
        raise Problem(f"{folder / records.FILE} cannot be read: {error}") from None
    return LabRecord(folder, found) if found else None


def checked(name: str) -> str:
    """Return the name of a lab; raises Problem for what is none."""
    try:
        return node_name(name)
    except ValueError as error:
        raise Problem(f"{name!a} cannot be the name of a lab: {error}") from None


def clear(folder: Path) -> None:
    """Remove what says that there is a lab, and the data of its parts; logs stay."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    (folder / CONTROL).unlink(missing_ok=True)
    (folder / records.FILE).unlink(missing_ok=True)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _others() -> str:
    names = ", ".join(lab.name for lab in everywhere())
    return f"; there are: {names}" if names else ""
