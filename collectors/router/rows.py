"""Management replies read into checked rows; nothing of sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.router.schema import ALWAYS_TOLD, Entity, Type

Row = dict[str, Any]

MAX_TEXT: Final = 512
_BIG: Final = 1 << 63


class BadReply(Exception):  # noqa: N818 -- it names the reply
    """A reply that cannot be used; `reason` is a word of the metric's, the text is for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Refused(BadReply):
    """The router understood and answered a status other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status_{status // 100}xx", f"status {status}: {text[:200]}")
        self.status = status


@dataclass(slots=True)
class Table:
    """The rows of a reply, how many came in all, and what was wrong with some: reason to count.

    `absent` are the columns that this router does not tell; they are None in each row.
    """

    rows: list[Row] = field(default_factory=list)
    came: int = 0
    absent: frozenset[str] = frozenset()
    faults: Counter[str] = field(default_factory=Counter)


def check_status(properties: Any) -> None:
    """Raise Refused or BadReply unless the reply's status is 200."""
    status = properties.get("statusCode") if isinstance(properties, Mapping) else None
    if isinstance(status, bool) or not isinstance(status, int):
        raise BadReply("no_status", "the reply has no statusCode")
    if status != 200:  # noqa: PLR2004 -- OK
        raise Refused(int(status), str(properties.get("statusDescription")))


def parse(entity: Entity, body: Any) -> Table:
    """Rows of an entity. The reply's attributeNames say what is where, never the positions asked for."""
    names = body.get("attributeNames") if isinstance(body, Mapping) else None
    results = body.get("results") if isinstance(body, Mapping) else None
    if not isinstance(names, list) or not isinstance(results, list):
        raise BadReply("shape", f"the reply for {entity.type} is no map of attributeNames and results")
    table = Table(came=len(results))
    wanted = {column.wire: column for column in entity.columns}
    places: list[tuple[int, str, Callable[[Any], Any]]] = []
    for place, wire in enumerate(name if isinstance(name, str) else None for name in names):
        column = wanted.pop(wire, None) if wire is not None else None
        if column:
            places.append((place, column.name, _READ[column.type]))
        elif wire not in ALWAYS_TOLD and not entity.ask_all:
            table.faults["unknown_attribute"] += 1
    absent = {column.name: None for column in wanted.values()}
    table.absent = frozenset(absent)
    if entity.key in absent and results:
        raise BadReply("shape", f"the reply for {entity.type} lacks {_wire(entity, entity.key)}")
    for values in results:
        row = _row(values, len(names), places, table.faults)
        if row is None:
            continue
        if row[entity.key] is None:
            table.faults["row_without_key"] += 1
            continue
        row.update(absent)
        table.rows.append(row)
    return table


def _wire(entity: Entity, name: str) -> str:
    return next(column.wire for column in entity.columns if column.name == name)


def _row(
    values: Any, width: int, places: list[tuple[int, str, Callable[[Any], Any]]], faults: Counter[str]
) -> Row | None:
    if not isinstance(values, list) or len(values) != width:
        faults["row_of_wrong_length"] += 1
        return None
    row: Row = {}
    for place, name, read in places:
        value = values[place]
        try:
            row[name] = None if value is None else read(value)
        except (TypeError, ValueError):
            row[name] = None
            faults["value_of_wrong_type"] += 1
    return row


def clean(text: str) -> str:
    """A text of theirs that can be encoded and is not long."""
    return (text if text.isascii() else text.encode("utf-8", "replace").decode())[:MAX_TEXT]


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _BIG:
        raise TypeError
    return int(value)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_BIG < value < _BIG:
        raise TypeError
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return clean(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_text(item) for item in value]


def _counts(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise TypeError
    return [_count(item) for item in value]


_READ: Final[dict[Type, Callable[[Any], Any]]] = {
    "count": _count,
    "number": _number,
    "text": _text,
    "flag": _flag,
    "texts": _texts,
    "counts": _counts,
}
