"""What is wrong with a topology, told at once: file, line, key and reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from collectors.config.load import ConfigError
from collectors.config.yaml_lines import Place

Mistake = tuple[Place, str]


@dataclass(frozen=True)
class Source:
    """Where a topology came from, on which line each part of it stands, and what is wrong with it already."""

    name: str
    line: Callable[[Place], int] | None = None
    found: tuple[tuple[int, Place, str], ...] = ()

    def refuse(self, mistakes: Iterable[Mistake]) -> None:
        """Raises ConfigError with these and those that were found before, if there are any."""
        told = [(self.line(place) if self.line else 0, place, reason) for place, reason in mistakes]
        told += self.found
        if told:
            told.sort(key=lambda m: (m[0], [str(part) for part in m[1]]))
            raise ConfigError([self._text(*mistake) for mistake in told])

    def _text(self, line: int, place: Place, reason: str) -> str:
        where = f"{self.name}:{line}" if self.line else self.name
        key = ".".join(map(str, place)) or "the file"
        return f"{where}: {key if key.isprintable() else ascii(key)}: {reason}"


def of_validation(model: type[BaseModel], error: ValidationError) -> list[Mistake]:
    """The errors in the words of the config."""
    return [_mistake(model, item) for item in error.errors()]


def _mistake(model: type[BaseModel], error: Any) -> Mistake:
    # pydantic marks a dictionary's bad key, and the member of a union, by elements of their own.
    place: Place = tuple(
        part for part in error["loc"] if part not in {"[key]", "str", "bool", "int", "float"}
    )
    kind = error["type"]
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
