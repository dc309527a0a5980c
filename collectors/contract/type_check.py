"""Whether a value from outside is what a type says, down to the last field and within bounds.

A record is checked whole before anything of it is used: one that is half right must not be half counted.
Its type is a TypedDict or a dataclass, in which each number and text says by `Annotated` how large it may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from collectors.contract.records import NUMBERS_BELOW

Check = Callable[[Any, str], None]  # ValueError, with the field, where the value is not what it should be

Json = dict[str, Any]  # of which only this is known: that everybody can take it
_DEEPEST: Final = 4
_LONGEST: Final = 4_096
_HIGHEST: Final = 1 << 80  # a sum of many numbers of 64 bits


class Whole(NamedTuple):
    """A number of [least, below)."""

    least: int
    below: int


class Text(NamedTuple):
    """So many characters at most, and whether they have to be such as can be shown."""

    most: int
    printable: bool = True


class Most(NamedTuple):
    """So many items at most, of a list or an object."""

    items: int


# No time is later than 2116, which leaves room to add to it without leaving 64 bits. Spans may be negative.
TimeNs = Annotated[int, Whole(0, NUMBERS_BELOW)]
SpanNs = Annotated[int, Whole(-(1 << 65), 1 << 65)]  # the sum of two numbers of 64 bits
LengthNs = Annotated[int, Whole(0, 1 << 65)]
Count = Annotated[int, Whole(0, 1 << 63)]
# As in the headers of samples, of which rows are made: collectors/contract/record_header.py.
Name = Annotated[str, Text(192)]
Place = Annotated[str, Text(1_024, printable=False)]  # a path or an address
Route = Annotated[str, Text(512)]
Word = Annotated[str, Text(64)]  # of our own making


def checker(kind: Any) -> Check:
    """What checks values of this type; TypeError where it says no bounds."""
    if is_typeddict(kind) or is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return _object({name: checker(hint) for name, hint in hints.items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(*arguments)
    if origin is Literal:
        return _one_of(arguments)
    if kind is bool:
        return _flag
    if kind == Json:
        return _row
    inner = [checker(argument) for argument in arguments if argument is not NoneType]
    made: dict[Any, Callable[..., Check]] = {list: _list, dict: _dict, UnionType: _optional, Union: _optional}
    if origin not in made:
        raise TypeError(f"{kind} says no bounds")
    return made[origin](*inner)


def _bounded(kind: Any, bounds: Whole | Text | Most) -> Check:
    if isinstance(bounds, Whole):
        return _whole(bounds)
    if isinstance(bounds, Text):
        return _text(bounds)
    inner = checker(kind)

    def check(value: Any, where: str) -> None:
        if isinstance(value, list | dict) and len(value) > bounds.items:
            raise ValueError(f"{where} is not of {bounds.items} items at most")
        inner(value, where)

    return check


def _whole(bounds: Whole) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not int or not bounds.least <= value < bounds.below:
            raise ValueError(f"{where} is not a whole number from {bounds.least} to below {bounds.below}")

    return check


def _text(bounds: Text) -> Check:
    kind = "printable characters" if bounds.printable else "characters"

    def check(value: Any, where: str) -> None:
        if (
            type(value) is not str
            or len(value) > bounds.most
            or (bounds.printable and not value.isprintable())
        ):
            raise ValueError(f"{where} is not a text of at most {bounds.most} {kind}")

    return check


def _flag(value: Any, where: str) -> None:
    if type(value) is not bool:
        raise ValueError(f"{where} is not true or false")


def _one_of(values: tuple[Any, ...]) -> Check:
    def check(value: Any, where: str) -> None:
        if value not in values or type(value) is not type(values[values.index(value)]):
            raise ValueError(f"{where} is not one of {', '.join(map(str, values))}")

    return check


def _optional(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return check


def _list(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not list:
            raise ValueError(f"{where} is not a list")
        for item in value:
            inner(item, where)

    return check


def _dict(key: Check, inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise ValueError(f"{where} is not an object")
        for name, item in value.items():
            key(name, where)
            inner(item, where)

    return check


def _object(fields: dict[str, Check]) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise ValueError(f"{where} is not an object")
        if value.keys() != fields.keys():
            differing = ", ".join(sorted(value.keys() ^ fields.keys()))
            raise ValueError(f"{where} lacks fields, or has some that are not known: {differing[:200]}")
        for name, inner in fields.items():
            inner(value[name], name)

    return check


def _row(value: Any, where: str) -> None:
    if type(value) is not dict:
        raise ValueError(f"{where} is not an object")
    _json(value, where, 0)


def _json(value: Any, where: str, depth: int) -> None:
    """Any JSON whose numbers and texts everybody can take, and that is not nested deep."""
    kind = type(value)
    if kind is int:
        if not -_HIGHEST < value < _HIGHEST:
            raise ValueError(f"{where} is not a whole number below {_HIGHEST}")
    elif kind is str:
        if len(value) > _LONGEST:
            raise ValueError(f"{where} is not a text of at most {_LONGEST} characters")
    elif kind is dict or kind is list:
        _within(value, where, depth)
    elif kind is float and not math.isfinite(value):
        raise ValueError(f"{where} is not a number that there is")


def _within(value: Json | list[Any], where: str, depth: int) -> None:
    if depth == _DEEPEST:
        raise ValueError(f"{where} is not JSON of {_DEEPEST} levels at most")
    if isinstance(value, dict) and value and max(map(len, value)) > _LONGEST:
        raise ValueError(f"{where} has a name of more than {_LONGEST} characters")
    for item in value.values() if isinstance(value, dict) else value:
        _json(item, where, depth + 1)
