"""Reads management replies into checked rows; it knows no sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.untrusted_text import MAX_TEXT, encodable
from collectors.polling.attributes import Attribute, Type
from collectors.router.schema import ALWAYS_TOLD, Entity

Row = dict[str, Any]

_BIG: Final = 1 << 63


class BadReply(Exception):  # noqa: N818 -- it names the reply
    """A reply cannot be used; `reason` is counted in the metrics, the text is for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Refused(BadReply):
    """The router answered with a status other than 200."""

    def __init__(self, status: int, text: str) -> None:
        # Of what is no status there could be any number of reasons, each a series.
        reason = f"status_{status // 100}xx" if 100 <= status < 600 else "no_status"  # noqa: PLR2004 -- HTTP's
        super().__init__(reason, f"status {status}: {text[:200]}")
        self.status = status


@dataclass(slots=True)
class Table:
    """The usable rows of a reply, how many came, and how many were faulty by reason.

    `absent` are the attributes that this router does not tell; they are None in each row.
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


def parse(entity: Entity, body: Any, *, named: bool = True) -> Table:
    """Read the rows of an entity, by the reply's attributeNames and not by the order asked for.

    `named` says that only the entity's attributes were asked for. Raises BadReply for another shape.
    """
    names = body.get("attributeNames") if isinstance(body, Mapping) else None
    results = body.get("results") if isinstance(body, Mapping) else None
    if not isinstance(names, list) or not isinstance(results, list):
        raise BadReply("shape", f"the reply for {entity.type} is no map of attributeNames and results")
    table = Table(came=len(results))
    wanted = {attribute.remote_name: attribute for attribute in entity.attributes}
    places: list[tuple[int, Attribute]] = []
    for place, told in enumerate(name if isinstance(name, str) else None for name in names):
        attribute = wanted.pop(told, None) if told is not None else None
        if attribute:
            places.append((place, attribute))
        elif told not in ALWAYS_TOLD and named:
            table.faults["unknown_attribute"] += 1
    table.absent = frozenset(attribute.name for attribute in wanted.values())
    if entity.key in table.absent and results:
        raise BadReply("shape", f"the reply for {entity.type} lacks {_remote_name(entity, entity.key)}")
    whole = [row for row in results if isinstance(row, list) and len(row) == len(names)]
    if len(whole) < len(results):
        table.faults["row_of_wrong_length"] += len(results) - len(whole)
    if not whole:
        return table
    # By columns: what holds for all values of one is asked once, and not for each.
    raw = [*zip(*whole, strict=True)]
    columns = [_column(raw[place], attribute.type, table.faults) for place, attribute in places]
    ours = [*(attribute.name for _, attribute in places), *table.absent]
    columns += [[None] * len(whole)] * len(table.absent)
    rows = [dict(zip(ours, row, strict=True)) for row in zip(*columns, strict=True)]
    table.rows = [row for row in rows if row[entity.key] is not None]
    if len(table.rows) < len(rows):
        table.faults["row_without_key"] += len(rows) - len(table.rows)
    return table


def _remote_name(entity: Entity, name: str) -> str:
    return next(a.remote_name for a in entity.attributes if a.name == name)


def _column(values: Sequence[Any], kind: Type, faults: Counter[str]) -> Sequence[Any]:
    """Return the values, with None for each that is not of the type."""
    types = {*map(type, values)} - _NOTHING
    if not types:
        return values
    if types == _ALL[kind] and _CLEAN[kind]([value for value in values if value is not None]):
        return values
    read = _READ[kind]
    found: list[Any] = []
    for value in values:
        try:
            found.append(None if value is None else read(value))
        except (TypeError, ValueError):
            found.append(None)
            faults["value_of_wrong_type"] += 1
    return found


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
    return encodable(value)


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
    if {*map(type, value)} == {int} and min(value) >= 0 and max(value) < _BIG:
        return value
    return [_count(item) for item in value]


_READ: Final[dict[Type, Callable[[Any], Any]]] = {
    "count": _count,
    "number": _number,
    "text": _text,
    "flag": _flag,
    "texts": _texts,
    "counts": _counts,
}

_NOTHING: Final = {type(None)}
# The one type that all values of a column may have for it to be taken as a whole, if they pass one test.
_ALL: Final[dict[Type, set[type]]] = {
    "count": {int},
    "number": {int},
    "text": {str},
    "flag": {bool},
    "texts": set(),  # each is looked into
    "counts": set(),
}
_CLEAN: Final[dict[Type, Callable[[Sequence[Any]], bool]]] = {
    "count": lambda values: min(values) >= 0 and max(values) < _BIG,
    "number": lambda values: min(values) > -_BIG and max(values) < _BIG,
    "text": lambda values: max(map(len, values)) <= MAX_TEXT and "".join(values).isascii(),
    "flag": lambda _: True,
}
