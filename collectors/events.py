"""What was done to the network on purpose: the records on `inflight.events`, as JSON."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from collectors.texts import read_json

VERSION: Final = 1
MAX_TEXT: Final = 1_024
MAX_PATTERNS: Final = 1_000

Kind = Literal["maintenance", "fault", "deploy"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Event:
    """Something done at a moment, or from then until another; `paths` are patterns, none means all."""

    at_ns: int
    until_ns: int | None
    kind: Kind
    paths: tuple[str, ...]
    text: str

    def concerns(self, path: str) -> bool:
        return not self.paths or any(fnmatch.fnmatchcase(path, pattern) for pattern in self.paths)

    def covers(self, from_ns: int, to_ns: int) -> bool:
        """Whether it went on at some time in [from_ns, to_ns)."""
        until_ns = self.at_ns + 1 if self.until_ns is None else self.until_ns
        return self.at_ns < to_ns and from_ns < until_ns


def encode(event: Event) -> bytes:
    """The event as canonical JSON."""
    value = {
        "v": VERSION,
        "at_ns": event.at_ns,
        "until_ns": event.until_ns,
        "kind": event.kind,
        "paths": list(event.paths),
        "text": event.text,
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def decode(data: bytes) -> Event:
    """The event in these bytes; ValueError where there is none of this version."""
    raw = read_json(data)
    if not isinstance(raw, dict):
        raise ValueError("the event is not a JSON object")  # noqa: TRY004 -- bad data, not a bad call
    if raw.get("v") != VERSION:
        raise ValueError(f"the event has version {raw.get('v')!r}; this reader knows version {VERSION}")
    kind, text, paths = raw.get("kind"), raw.get("text", ""), raw.get("paths", [])
    if kind not in KINDS:
        raise ValueError(f"the event's kind {kind!r} is none of {', '.join(KINDS)}")
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError(f"the event's text is not a text of at most {MAX_TEXT} characters")
    if not isinstance(paths, list) or len(paths) > MAX_PATTERNS or not all(isinstance(p, str) for p in paths):
        raise ValueError(f"the event's paths are not a list of at most {MAX_PATTERNS} patterns")
    at_ns, until_ns = _time(raw, "at_ns"), None if raw.get("until_ns") is None else _time(raw, "until_ns")
    if until_ns is not None and until_ns < at_ns:
        raise ValueError("the event ends before it begins")
    return Event(at_ns, until_ns, cast("Kind", kind), tuple(paths), text)


def _time(raw: dict[str, Any], name: str) -> int:
    value = raw.get(name)
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"the event's {name} is not a time in ns")
    return value
