"""lab.json: what runs in a lab, where, and who keeps it. Its keeper writes it, whoever asks reads it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collectors.process import private_files

FILE: Final = "lab.json"
_FILE_BYTES: Final = 1 << 20

LabState = Literal["starting", "up", "ending"]
Kind = Literal["router", "broker", "database", "kafka", "wiring"]
# `ended` unasked, or `down` because it was told to.
PartState = Literal["starting", "up", "paused", "down", "ended"]

_Text = Annotated[str, Field(max_length=4_096)]
_Pid = Annotated[int, Field(ge=1)]


class _Element(BaseModel):
    model_config = ConfigDict(frozen=True)


class ProcessId(_Element):
    """A process, told from a later one with the same pid, on this boot of the machine or another."""

    pid: _Pid
    start_ticks: int
    boot: _Text

    @classmethod
    def own(cls) -> Self:
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return it of a process that there is, or raise OSError."""
        _, start_ticks = _stat(pid)
        return cls(pid=pid, start_ticks=start_ticks, boot=_boot())

    def state(self) -> Literal["running", "stopped", "gone"]:
        try:
            state, start_ticks = _stat(self.pid)
        except OSError:
            return "gone"
        if start_ticks != self.start_ticks or self.boot != _boot() or state in "ZX":
            return "gone"
        return "stopped" if state in "tT" else "running"


class Part(_Element):
    """A process. `runs` is its program with its version, or says that it is a stand-in.

    Parts of the kind `wiring` are what the lab's links are made of; nobody connects to them.
    """

    name: _Text
    kind: Kind
    runs: _Text
    url: _Text = ""
    jolokia: _Text | None = None
    pid: _Pid | None = None
    state: PartState = "starting"
    ended: _Text | None = None  # how, where nobody had asked for it

    def seen(self, *, there: bool) -> Self:
        """Return the part as its process tells it, where its keeper does not."""
        if not there or self.pid is None:
            return self.model_copy(update={"state": "down", "pid": None})
        return self.model_copy(update={"state": "paused" if is_stopped(self.pid) else "up"})


class Record(_Element):
    """A lab. As a file it tells the states of when it was written, as an answer those of now."""

    version: Literal[1] = 1
    name: _Text
    state: LabState
    keeper: ProcessId
    since_ns: int
    wiring: _Text
    parts: tuple[Part, ...] = ()
    links: tuple[_Text, ...] = ()
    faults: dict[str, tuple[dict[str, Any], ...]] = {}  # by link
    verbs: tuple[_Text, ...] = ()  # what can be told to parts and links


def write(folder: Path, record: Record) -> None:
    private_files.replace(folder / FILE, record.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")


def read(folder: Path) -> Record | None:
    """Return what the folder's file says, None where there is none; raises ValueError for any other file."""
    try:
        with (folder / FILE).open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > _FILE_BYTES:
        raise ValueError(f"more than {_FILE_BYTES} bytes")
    try:
        return Record.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from None


def is_stopped(pid: int) -> bool:
    """Whether the process stands still, whoever stopped it."""
    try:
        return _stat(pid)[0] in "tT"
    except OSError:
        return False


def _stat(pid: int) -> tuple[str, int]:
    """Return the state of a process and when it began; OSError where there is none."""
    # Its name comes before these, in brackets, and may hold anything.
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return fields[0], int(fields[19])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
