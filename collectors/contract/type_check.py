"""Checks that a value from outside is of a type, down to the last field and within bounds.

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

Check = Callable[[Any, str], None]  # of a value and its field's name; raises ValueError that names the field

Json = dict[str, Any]  # any JSON object whose numbers, texts and depth are bounded
_DEEPEST: Final = 4
_LONGEST: Final = 4_096
_HIGHEST: Final = 1 << 80  # a sum of many numbers of 64 bits


class Between(NamedTuple):
    """A whole number of [least, below)."""

    least: int
    below: int


class MaxLength(NamedTuple):
    """A text of so many characters at most, all of them printable unless it says otherwise."""

    characters: int
    printable: bool = True


class MaxItems(NamedTuple):
    """A list or an object of so many items at most."""

    items: int


# No time is later than 2116, which leaves room to add to it without leaving 64 bits. Spans may be negative.
TimeNs = Annotated[int, Between(0, NUMBERS_BELOW)]
SpanNs = Annotated[int, Between(-(1 << 65), 1 << 65)]  # the sum of two numbers of 64 bits
LengthNs = Annotated[int, Between(0, 1 << 65)]
Count = Annotated[int, Between(0, 1 << 63)]
# As in the headers of records, of which rows are made: collectors/contract/record_header.py.
Name = Annotated[str, MaxLength(192)]
PathOrAddress = Annotated[str, MaxLength(1_024, printable=False)]  # a path or an address
Route = Annotated[str, MaxLength(512)]
Word = Annotated[str, MaxLength(64)]  # one of a few that this project chose


def checker(kind: Any) -> Check:
    """Return a function that checks values of this type; raises TypeError if the type has no bounds."""
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
        return _json_object
    inner = [checker(argument) for argument in arguments if argument is not NoneType]
    made: dict[Any, Callable[..., Check]] = {list: _list, dict: _dict, UnionType: _optional, Union: _optional}
    if origin not in made:
        raise TypeError(f"{kind} says no bounds")
    return made[origin](*inner)


def _bounded(kind: Any, bounds: Between | MaxLength | MaxItems) -> Check:
    if isinstance(bounds, Between):
        return _whole(bounds)
    if isinstance(bounds, MaxLength):
        return _text(bounds)
    inner = checker(kind)

    def check(value: Any, where: str) -> None:
        if isinstance(value, list | dict) and len(value) > bounds.items:
            raise ValueError(f"{where} is not of {bounds.items} items at most")
        inner(value, where)

    return check


def _whole(bounds: Between) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not int or not bounds.least <= value < bounds.below:
            raise ValueError(f"{where} is not a whole number from {bounds.least} to below {bounds.below}")

    return check


def _text(bounds: MaxLength) -> Check:
    kind = "printable characters" if bounds.printable else "characters"

    def check(value: Any, where: str) -> None:
        if (
            type(value) is not str
            or len(value) > bounds.characters
            or (bounds.printable and not value.isprintable())
        ):
            raise ValueError(f"{where} is not a text of at most {bounds.characters} {kind}")

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


def _json_object(value: Any, where: str) -> None:
    if type(value) is not dict:
        raise ValueError(f"{where} is not an object")
    _json(value, where, 0)


def _json(value: Any, where: str, depth: int) -> None:
    """Check any JSON: its numbers, texts and depth."""
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
