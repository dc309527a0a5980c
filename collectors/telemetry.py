"""The JSON records on `inflight.router` and `inflight.broker`: one for each target, entity and poll."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from collectors.texts import read_json

FORMAT: Final = 1
MAX_ROWS: Final = 500  # in one record; more go into further parts of it
MAX_BYTES: Final = 4 << 20


class BadTelemetry(Exception):  # noqa: N818 -- it names the record
    """A record that cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Rows of one entity. Counters come as `name` (rises only) and `name_added` (since the last poll).

    `target` is a router or a broker, or empty where the record is of the mesh as a whole.
    """

    site: str
    mesh: str
    target: str
    entity: str
    at_ns: int
    interval_ns: int
    poll: int
    rows: list[dict[str, Any]]
    restarted: bool = False
    part: int = 1
    parts: int = 1

    @property
    def key(self) -> str:
        return f"{self.mesh}/{self.target}"

    def encode(self) -> bytes:
        # Not by asdict, which copies each value of each row.
        values = {"v": FORMAT, **{name: getattr(self, name) for name in _FIELDS}}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def split(record: Telemetry) -> Iterator[Telemetry]:
    """The same in parts of a bounded number of rows; one part where there are none."""
    parts: Sequence[int] = range(0, len(record.rows), MAX_ROWS) or (0,)
    for number, start in enumerate(parts, 1):
        rows = record.rows[start : start + MAX_ROWS]
        yield replace(record, rows=rows, part=number, parts=len(parts))


_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(("site", "mesh", "target", "entity"), str),
    **dict.fromkeys(("at_ns", "interval_ns", "poll", "part", "parts"), int),
    "rows": list,
    "restarted": bool,
}


def decode(data: bytes) -> Telemetry:
    """Read a record; BadTelemetry for anything that is none."""
    if len(data) > MAX_BYTES:
        raise BadTelemetry(f"a record of {len(data)} bytes")
    try:
        values = read_json(data)
    except ValueError:
        raise BadTelemetry("not JSON") from None
    if not isinstance(values, dict) or values.pop("v", None) != FORMAT:
        raise BadTelemetry(f"not of format {FORMAT}")
    for name, kind in _FIELDS.items():
        if type(values.get(name)) is not kind:
            raise BadTelemetry(f"field {name} is not of type {kind.__name__}")
    if unknown := values.keys() - _FIELDS.keys():
        raise BadTelemetry(f"unknown fields: {', '.join(sorted(unknown))[:200]}")
    if not all(isinstance(row, dict) for row in values["rows"]):
        raise BadTelemetry("a row that is no JSON object")
    return Telemetry(**values)
