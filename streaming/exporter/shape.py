"""Whether a row has the types that its contract states, down to the last field.

A row is checked whole before anything is counted: one that is half right must not be half counted.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from streaming.rows import LiveRow, WindowRow

Check = Callable[[Any, str], None]
_LIMIT: Final = 1 << 80  # of any number: sums of ns over many messages are larger than 64 bits


def check_window(row: WindowRow) -> None:
    """ValueError, with the field, where the row is not of its type."""
    _WINDOW(row, "row")


def check_live(row: LiveRow) -> None:
    """The same for a live row."""
    _LIVE(row, "row")


def _check_for(kind: Any) -> Check:
    if is_typeddict(kind):
        return _object({name: _check_for(hint) for name, hint in get_type_hints(kind).items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is None:
        return _int if kind is int else _of(kind)
    if origin is Literal:
        return _one_of(arguments)
    inner = [_check_for(argument) for argument in arguments if argument is not NoneType]
    made: dict[Any, Callable[..., Check]] = {list: _list, dict: _dict, UnionType: _optional, Union: _optional}
    return made[origin](*inner)


def _int(value: Any, where: str) -> None:
    if type(value) is not int or not -_LIMIT < value < _LIMIT:
        raise ValueError(f"{where} is not a whole number")


def _of(kind: type) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not kind:
            raise ValueError(f"{where} is not of type {kind.__name__}")

    return check


def _one_of(values: tuple[Any, ...]) -> Check:
    def check(value: Any, where: str) -> None:
        if value not in values:
            raise ValueError(f"{where} is none of {', '.join(map(str, values))}")

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
        if type(value) is not dict or value.keys() != fields.keys():
            raise ValueError(f"{where} is not an object with the fields {', '.join(sorted(fields))}")
        for name, inner in fields.items():
            inner(value[name], name)

    return check


_WINDOW: Final = _check_for(WindowRow)
_LIVE: Final = _check_for(LiveRow)
