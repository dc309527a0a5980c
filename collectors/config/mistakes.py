"""Mistakes in a file that a person wrote: at which key each is, and why it is one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from collectors.config.yaml_lines import Place

Mistake = tuple[Place, str]
# pydantic adds elements of its own to a place: one for a dictionary's bad key, one for each type of a union.
_KEY: Final = "[key]"
_SCALARS: Final = frozenset({"str", "bool", "int", "float"})
_OF_SCALARS: Final = ("string_", "bool_", "int_", "float_")


def of_validation(model: type[BaseModel], error: ValidationError) -> list[Mistake]:
    """Returns all that the model refuses, in words for people."""
    return [_mistake(model, item) for item in error.errors()]


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Returns the reason why a name is refused that nothing has."""
    return f"no {kind} is called {name!r}; there are: {', '.join(known) or 'none'}"


def key_text(place: Place) -> str:
    """Returns a place as a person reads it, without the password that a key may hold."""
    text = ".".join(map(str, place)) or "the file"
    text = re.sub(r"//.*@", "//", text)
    return text if text.isprintable() else ascii(text)


def _mistake(model: type[BaseModel], error: Any) -> Mistake:
    kind = error["type"]
    place: Place = tuple(part for part in error["loc"] if part != _KEY)
    if place and place[-1] in _SCALARS and kind.startswith(_OF_SCALARS):
        place = place[:-1]
    if kind == "missing":
        return place, "is missing"
    if kind == "extra_forbidden":
        return place, f"unknown key; known here: {', '.join(_keys_at(model, place[:-1]))}"
    if kind == "model_type":
        return place, f"should hold keys and values: {', '.join(_keys_at(model, place))}"
    if kind == "too_short":
        return place, "needs at least one"
    return place, error["msg"].removeprefix("Value error, ").replace("Input should", "should")


def _keys_at(model: type[BaseModel], place: Place) -> list[str]:
    for part in place:
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        model = (_model_in(field.annotation) if field else None) or model
    return [f.alias or n for n, f in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
