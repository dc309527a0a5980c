"""What was done to the network on purpose: the records on `inflight.events`, as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal, TypedDict, get_args

from collectors.contract import type_check
from collectors.contract.type_check import MaxItems, MaxLength, Name, TimeNs, Word
from collectors.contract.untrusted_text import matches, read_json

VERSION: Final = 1

Kind = Literal["maintenance", "fault", "deploy"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Key = tuple[int, Kind, tuple[str, ...]]


class _Fields(TypedDict):
    v: Literal[1]
    at_ns: TimeNs
    until_ns: TimeNs | None
    kind: Kind
    paths: Annotated[list[Annotated[str, MaxLength(1_024, printable=False)]], MaxItems(1_000)]
    text: Annotated[str, MaxLength(1_024, printable=False)]
    do: Word  # what an action did, like kill
    what: Name  # to which part or link


_check: Final = type_check.checker(_Fields)


@dataclass(frozen=True, slots=True)
class Event:
    """Something done at `at_ns`, or from then until `until_ns`; `paths` are patterns, none means all.

    An action says what it did, and to which part or link. It writes its event when it begins, and once more
    with its end.
    """

    at_ns: int
    until_ns: int | None
    kind: Kind
    paths: tuple[str, ...]
    text: str
    do: str = ""
    what: str = ""

    @property
    def key(self) -> Key:
        """What an event and its end have in common."""
        return self.at_ns, self.kind, self.paths

    def concerns(self, path: str) -> bool:
        return not self.paths or matches(path, self.paths)

    def covers(self, from_ns: int, to_ns: int) -> bool:
        """Return whether it went on at some time in [from_ns, to_ns)."""
        until_ns = self.at_ns + 1 if self.until_ns is None else self.until_ns
        return self.at_ns < to_ns and from_ns < until_ns


_FIELDS: Final = tuple(field.name for field in fields(Event))


def encode(event: Event) -> bytes:
    """Return the event as canonical JSON."""
    action = {name: value for name, value in (("do", event.do), ("what", event.what)) if value}
    value = {
        "v": VERSION,
        "at_ns": event.at_ns,
        "until_ns": event.until_ns,
        "kind": event.kind,
        "paths": list(event.paths),
        "text": event.text,
        **action,
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def decode(data: bytes) -> Event:
    """Read an event; raises ValueError for anything else, and for one of another version."""
    raw = read_json(data)
    if not isinstance(raw, dict):
        raise ValueError("the event is not a JSON object")  # noqa: TRY004 -- bad data, not a bad call
    if raw.get("v") != VERSION:
        raise ValueError(f"the event has version {raw.get('v')!r:.20}; this reader knows version {VERSION}")
    whole = {"until_ns": None, "paths": [], "text": "", "do": "", "what": "", **raw}
    _check(whole, "the event")
    if whole["until_ns"] is not None and whole["until_ns"] < whole["at_ns"]:
        raise ValueError("the event ends before it begins")
    return Event(**{name: whole[name] for name in _FIELDS} | {"paths": tuple(whole["paths"])})
