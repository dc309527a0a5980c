"""The form of an action, as in the `stories` of a topology: checked whole, each mistake at its key."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from collectors.config import units
from collectors.config.mistakes import key_text, of_validation
from collectors.config.model import DurationNs, FileName
from collectors.contract import events
from collectors.router.topology import EXPECT_SEPARATOR, pair
from deploy.actions.kinds import KINDS, Verb
from deploy.errors import Problem

HERE: Final = "here"
SSH: Final = "ssh"
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY: Final = re.compile(r"(https|ssh|file)://[^\s@]+|ssh://[A-Za-z0-9._-]+@[^\s@:]+(:\d+)?/\S*")
_OF_KINDS: Final = tuple(dict.fromkeys(field for kind in KINDS.values() for field in kind.fields))


def part_or_link(value: str) -> str:
    """A part by its name, or a link by its two ends, in order; nothing in it means anything to a shell."""
    ends = value.split(EXPECT_SEPARATOR)
    if len(ends) > 2 or not all(_PART.fullmatch(end) for end in ends):  # noqa: PLR2004 -- a link has two
        raise ValueError(f"{value!a} is no part's name, nor a link like A--B")
    return pair(*ends).id if len(ends) == 2 else value  # noqa: PLR2004 -- the same


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
What = Annotated[str, AfterValidator(part_or_link)]
PartName = Annotated[str, Field(pattern=rf"^{_PART.pattern}$")]
Share = Annotated[float, Field(gt=0, le=100)]
Milliseconds = Annotated[float, Field(ge=0, le=3_600_000)]


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
    what: What
    after: Annotated[int, BeforeValidator(_after)] = 0  # from the begin of its story
    lasts: DurationNs | None = Field(None, alias="for")  # then it is undone; else when the story ends
    deadline: DurationNs = units.duration_ns("30s")  # of doing it, and of undoing it
    by: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None  # here, ssh, or a template
    kind: events.Kind = "fault"

    ms: Milliseconds | None = None
    jitter_ms: Milliseconds | None = None
    bytes_per_second: Annotated[int, Field(ge=1)] | None = None
    to: PartName | None = None
    percent: Share | None = None
    direction: Annotated[str, Field(pattern=r"^[A-Za-z0-9._>-]{1,130}$")] | None = None
    offset_ms: Annotated[float, Field(ge=-1e9, le=1e9)] | None = None
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
        verb = info.data.get("do")
        name = "from" if info.field_name == "source" else info.field_name
        if verb and name not in KINDS[verb].fields:
            fields = ", ".join(KINDS[verb].fields)
            raise ValueError(f"is not for `{verb}`, which has {fields or 'no fields of its own'}")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        missing = [name for name in KINDS[self.do].needs if getattr(self, name) is None]
        if missing:
            raise ValueError(f"`{self.do}` needs {' and '.join(f'`{name}`' for name in missing)}")
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


def read(value: Mapping[str, Any]) -> Action:
    """Make an action of a person's fields; raises Problem with every mistake in them."""
    try:
        return Action.model_validate(dict(value))
    except ValidationError as error:
        mistakes = of_validation(Action, error)
        told = [f"{key_text(place)}: {reason}" if place else reason for place, reason in mistakes]
        raise Problem("this is no action:\n  " + "\n  ".join(told)) from None
