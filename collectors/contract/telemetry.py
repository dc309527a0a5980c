"""The JSON records on `inflight.router` and `inflight.broker`: one for each target, entity and poll."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from collectors.contract import type_check
from collectors.contract.type_check import Between, Count, Json, LengthNs, Name, TimeNs, Word
from collectors.contract.untrusted_text import read_json

FORMAT: Final = 2
_OLDER: Final = 1  # without the fields of `_LATER`
MAX_ROWS: Final = 500  # in one record; more go into further parts of it
MAX_PARTS: Final = 1_000
MAX_BYTES: Final = 4 << 20

Part = Annotated[int, Between(1, MAX_PARTS + 1)]


class BadTelemetry(Exception):  # noqa: N818 -- it names the record
    """A record cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Rows of one entity. A counter has `name`, which only rises, and `name_added`, since the poll before.

    `target` is a router or a broker, or empty where the record is of the mesh as a whole. `at_ns` is of the
    poll as a whole; what these rows say was so at some time from `asked_ns` to `answered_ns`.
    """

    site: Name
    mesh: Name
    target: Name
    entity: Name
    at_ns: TimeNs
    interval_ns: LengthNs
    poll: Count
    rows: list[Json]
    restarted: bool = False
    part: Part = 1
    parts: Part = 1
    run: Word = ""  # of the collector; numbers of polls, and sums that only rise, begin anew with each
    asked_ns: TimeNs = 0
    answered_ns: TimeNs = 0
    instance: Count = 0  # of the router, as the router tells it: another one after a restart

    @property
    def key(self) -> str:
        return f"{self.mesh}/{self.target}"

    def encode(self) -> bytes:
        # Not by asdict, which copies each value of each row.
        values = {"v": FORMAT, **{name: getattr(self, name) for name in Telemetry.__slots__}}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def split(record: Telemetry, most: int = MAX_ROWS) -> Iterator[Telemetry]:
    """Yield the record in parts of at most so many rows; one part if it has no rows."""
    parts: Sequence[int] = range(0, len(record.rows), most) or (0,)
    for number, start in enumerate(parts, 1):
        rows = record.rows[start : start + most]
        yield replace(record, rows=rows, part=number, parts=len(parts))


_check: Final = type_check.checker(Telemetry)
_LATER: Final = {"run": "", "asked_ns": 0, "answered_ns": 0, "instance": 0}


def decode(data: bytes) -> Telemetry:
    """Read a record; raises BadTelemetry for anything else."""
    if len(data) > MAX_BYTES:
        raise BadTelemetry(f"a record of {len(data)} bytes")
    try:
        values = read_json(data)
    except ValueError:
        raise BadTelemetry("not JSON") from None
    version = values.pop("v", None) if isinstance(values, dict) else None
    if type(version) is not int or version not in {_OLDER, FORMAT}:
        raise BadTelemetry(f"not of format {FORMAT}")
    if version == _OLDER:
        values = {**_LATER, "asked_ns": values.get("at_ns"), "answered_ns": values.get("at_ns"), **values}
    try:
        _check(values, "record")
    except ValueError as error:
        raise BadTelemetry(str(error)) from None
    if values["part"] > values["parts"]:
        raise BadTelemetry(f"part {values['part']} of {values['parts']}")
    return Telemetry(**values)
