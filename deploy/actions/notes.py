"""Notes of what is going on, on disk: what undoes it, so that the next start can after a kill -9."""

from __future__ import annotations

import fcntl
import logging
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collectors.contract.events import Event, decode, encode
from collectors.process import private_files
from deploy.actions.command import SetClock
from deploy.actions.labs import Ask
from deploy.actions.program import Run
from deploy.actions.steps import Step
from deploy.errors import Problem
from deploy.lab.record import ProcessId
from deploy.topology.action import Action

_FILE_BYTES: Final = 1 << 20
_MOST: Final = 1_000
_LOCK_SECONDS: Final = 10.0
_log: Final = logging.getLogger("inflight.actions")

Undo = Annotated[Run | Ask | SetClock, Field(discriminator="by")]


class Content(BaseModel):
    """What a note says. `event` is the one of its begin; `config` says where its end is written."""

    model_config = ConfigDict(frozen=True)
    version: Literal[1] = 1
    event: str
    undo: Undo
    deadline_ns: int
    config: Path | None
    owner: ProcessId
    failed: str = ""  # why it could not be undone

    def of(self) -> Event:
        return decode(self.event.encode())

    @property
    def began(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.of().at_ns // 1_000_000_000))


class Note:
    """The note of one action; what is written on it is only of use when its owner is gone."""

    def __init__(self, file: Path, content: Content) -> None:
        self.file: Final = file
        self.content = content

    @property
    def mark(self) -> str:
        """What programs of this action carry, so that whoever undoes it can end them first."""
        return f"{self.file}//"

    def failed(self, why: str) -> None:
        """Say that it could not be undone, and why, in a line: there may be the end of a log below it."""
        self._amend(failed=why.partition("\n")[0])

    def taken_over(self) -> None:
        """Say that this process undoes it now."""
        self._amend(owner=ProcessId.own())

    def remove(self) -> None:
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s cannot be removed: %s; what it notes is undone", self.file, error.strerror)

    def _amend(self, **changes: Any) -> None:
        self.content = self.content.model_copy(update=changes)
        try:
            _write(self.file, self.content)
        except OSError as error:
            _log.warning("%s cannot be written, and stays as it is: %s", self.file, error.strerror)


class Notes:
    """The folder of notes of one user on this machine; `config` is the file that says where events go."""

    def __init__(self, folder: Path, config: Path | None = None) -> None:
        self.folder: Final = folder
        self._config = config

    @classmethod
    def of_user(cls, config: Path | None = None) -> Notes:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(state) / "inflight" / "actions", config)

    def write(self, action: Action, undo: Step, event: Event) -> Note:
        """Write the note of an action that is about to begin; raises Problem where that is not to be."""
        content = Content(
            event=encode(event).decode(),
            undo=undo,  # type: ignore[arg-type]  # pydantic refuses a step that cannot be noted
            deadline_ns=action.deadline,
            config=self._config and self._config.absolute(),
            owner=ProcessId.own(),
        )
        note = Note(self.folder / f"{uuid.uuid4().hex}.json", content)
        try:
            with self.locked():
                for other in self.read():
                    if other.content.undo == content.undo:
                        raise Problem(_taken(other))
                _write(note.file, content)
        except OSError as error:
            with suppress(OSError):
                note.file.with_suffix(".part").unlink(missing_ok=True)
            why = f"{error.strerror}: {self.folder}"
            raise Problem(f"the note of how to undo it cannot be written: {why}") from None
        return note

    def read(self) -> list[Note]:
        """Return all notes, the last begun first. What is no note is told, and left alone."""
        found = []
        with suppress(FileNotFoundError):
            for file in sorted(self.folder.glob("*.json"))[:_MOST]:
                try:
                    with file.open("rb") as opened:
                        content = Content.model_validate_json(opened.read(_FILE_BYTES))
                    content.of()
                except FileNotFoundError:
                    continue  # undone meanwhile
                except (OSError, ValidationError, ValueError) as error:
                    why = str(error).splitlines()[0]
                    _log.warning("%s is no note of an action (%s): remove it", file, why)
                else:
                    found.append(Note(file, content))
        return sorted(found, key=lambda note: note.content.of().at_ns, reverse=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process of this user look at notes and write one at the same time."""
        deadline = time.monotonic() + _LOCK_SECONDS
        try:
            private_files.private_folder(self.folder)
            opened = (self.folder / "lock").open("ab")
        except OSError as error:
            raise Problem(f"notes of actions cannot be kept in {self.folder}: {error.strerror}") from None
        with opened as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Problem(f"another process holds {file.name}: find it with `fuser`") from None
                    time.sleep(0.02)
            yield


def _taken(other: Note) -> str:
    what, owner = other.content.of().text, other.content.owner
    if owner.state() != "gone":
        return f"{what}, by pid {owner.pid}, which goes on; what undoes both is the same"
    return f"{what} before, and was not undone: `inflight fault undo` does"


def _write(file: Path, content: Content) -> None:
    private_files.replace(file, content.model_dump_json(indent=1).encode() + b"\n")
