"""The form of an action, as in the `stories` of a topology: checked whole, each mistake at its key."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from collectors.config import units
from collectors.config.model import DurationNs, FileName
from collectors.contract import events
from collectors.router.topology import EXPECT_SEPARATOR
from deploy.topology.action_kinds import KINDS, LinkFault, Verb, check_field, check_together
from deploy.topology.names import NodeName, PartOrLink

HERE: Final = "here"
SSH: Final = "ssh"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY: Final = re.compile(r"(https|ssh|file)://[^\s@]+|ssh://[A-Za-z0-9._-]+@[^\s@:]+(:\d+)?/\S*")
_OF_KINDS: Final = tuple(dict.fromkeys(field for kind in KINDS.values() for field in kind.fields))


def _argv(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _argument(value: str) -> str:
    if "\0" in value:
        raise ValueError("an argument holds no zero byte")
    return value


def _repository(value: str) -> str:
    if not _REPOSITORY.fullmatch(value) or not value.isprintable():
        raise ValueError("a repository is https://…, ssh://… or file://…, with no password in it")
    return value


def _commit(value: str) -> str:
    if not _COMMIT.fullmatch(value):
        raise ValueError("a commit is its full id, 40 hexadecimal digits: a branch or a tag may move")
    return value


def _after(value: object) -> int:
    return 0 if value in ("0", "0s") else units.duration_ns(value)


def _source(value: object) -> object:
    return {"folder": value} if isinstance(value, str) else value


Argument = Annotated[str, Field(max_length=32_768), AfterValidator(_argument)]
Argv = Annotated[tuple[Argument, ...], BeforeValidator(_argv), Field(min_length=1, max_length=1_000)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class _Element(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


class Source(_Element):
    """Where a command runs: a folder, or a git repository at one commit.

    A folder with a commit is a checkout that has to be at this commit, with nothing changed.
    """

    folder: FileName | None = None
    git: Annotated[str, AfterValidator(_repository)] | None = None
    commit: Annotated[str, AfterValidator(_commit)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.folder is None) == (self.git is None):
            raise ValueError("name either a `folder` or a `git` repository")
        if self.git is not None and self.commit is None:
            raise ValueError("a `git` repository needs its `commit`, in full")
        return self


class Action(_Element):
    """Something done to a part or to a link. What only some kinds have stands in KINDS."""

    do: Verb
    what: PartOrLink
    after: Annotated[int, BeforeValidator(_after)] = 0  # from the begin of its story
    lasts: DurationNs | None = Field(None, alias="for")  # then it is undone; else when the story ends
    deadline: DurationNs = units.duration_ns("30s")  # of doing it, and of undoing it
    by: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None  # here, ssh, or a template
    kind: events.Kind = "fault"

    ms: float | None = None
    jitter_ms: float | None = None
    bytes_per_second: int | None = None
    to: NodeName | None = None
    percent: float | None = None
    direction: Annotated[str, Field(pattern=r"^[A-Za-z0-9._>-]{1,130}$")] | None = None
    fault: LinkFault | None = None
    offset_ms: float | None = None
    file: FileName | None = None
    run: Argv | None = None
    undo: Argv | None = None
    source: Annotated[Source, BeforeValidator(_source)] | None = Field(None, alias="from")
    secrets: tuple[Variable, ...] = ()  # variables of the environment whose values are shown nowhere

    @field_validator("what")
    @classmethod
    def _of_its_kind(cls, value: str, info: ValidationInfo) -> str:
        verb = info.data.get("do")
        wanted = KINDS[verb].of if verb else "part or link"
        found = "link" if EXPECT_SEPARATOR in value else "part"
        if found not in wanted:
            raise ValueError(f"`{verb}` is done to a {wanted}, not to a {found}")
        return value

    @field_validator(*("source" if name == "from" else name for name in _OF_KINDS))
    @classmethod
    def _has_field(cls, value: Any, info: ValidationInfo) -> Any:
        if verb := info.data.get("do"):
            check_field(verb, "from" if info.field_name == "source" else str(info.field_name), value)
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        check_together(self.do, self.fields)
        if self.lasts is not None and not self.can_be_undone:
            raise ValueError(f"`for` is not for `{self.do}`: nothing undoes it")
        return self

    @property
    def can_be_undone(self) -> bool:
        return self.undo is not None if self.do == "command" else KINDS[self.do].undo is not None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its own kind, as they were given."""
        named = ((name, "source" if name == "from" else name) for name in KINDS[self.do].fields)
        found = {name: getattr(self, attribute) for name, attribute in named}
        return {name: value for name, value in found.items() if value not in (None, ())}
