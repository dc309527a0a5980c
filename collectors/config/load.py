"""Reads the config file, and tells all its mistakes at once, with file, line, key and reason."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from collectors.config import paths
from collectors.config.model import Config
from collectors.config.yaml_lines import Place, YamlFile, YamlMistake

_LONGEST: Final = 16 << 20  # bytes


class ConfigError(Exception):
    """A config has mistakes: each is a line of the text."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


def load(file: File) -> Config:
    """Reads a config from its file; ConfigError tells every mistake."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise ConfigError([f"{file}: is longer than {_LONGEST >> 20} MiB"])
        text = data.decode()
    except OSError as error:
        raise ConfigError([f"{file}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{file}: is not UTF-8 text"]) from None
    return parse(text, str(file))


def parse(text: str, file: str) -> Config:
    """Reads a config from its text; messages call it `file`."""
    try:
        document = YamlFile(text)
    except YamlMistake as mistake:
        raise ConfigError([f"{file}:{mistake.line}: {mistake.reason}"]) from None
    found = [
        (line, place, "is there twice; each name stands once")
        for place, line in zip(document.duplicates, document.duplicate_lines, strict=True)
    ]
    config = None
    try:
        config = Config.model_validate(document.value if document.value is not None else {})
    except ValidationError as error:
        found += [_mistake(document, item) for item in error.errors()]
    else:
        found += [(document.line(place), place, reason) for place, reason in _references(config)]
    if found or config is None:
        found.sort(key=lambda m: (m[0], [str(part) for part in m[1]]))
        raise ConfigError([f"{file}:{line}: {_spell(place)}: {reason}" for line, place, reason in found])
    return config


def _references(config: Config) -> Iterator[tuple[Place, str]]:
    """Yields the place and reason of each mistake that only other parts of the file show."""
    for name, endpoint in config.endpoints.items():
        if config.meshes and endpoint.mesh not in config.meshes:
            yield ("endpoints", name, "mesh"), _unknown("mesh", endpoint.mesh, config.meshes)
    for number, slo in enumerate(config.slos):
        for pattern in slo.paths:
            if not fnmatch.filter(config.paths, pattern):
                yield ("slos", number, "paths"), f"no path is called {pattern!r}"
    for name in config.paths:
        yield from _path_references(config, name)
        yield from _path_times(config, name)


def _path_references(config: Config, name: str) -> Iterator[tuple[Place, str]]:
    path = config.paths[name]
    here: Place = ("paths", name)
    if path.source not in config.endpoints:
        yield (*here, "from"), _unknown("endpoint", path.source, config.endpoints)
    for target in path.to:
        if target not in config.endpoints:
            yield (*here, "to"), _unknown("endpoint", target, config.endpoints)
        if len(path.to) > 1 and paths.member_name(name, target) in config.paths:
            yield ("paths", paths.member_name(name, target)), f"is also the name of {name}'s path to {target}"
    if len(set(path.to)) != len(path.to):
        yield (*here, "to"), "the same endpoint twice"
    if path.via is not None and path.via not in config.brokers:
        yield (*here, "via"), _unknown("broker", path.via, config.brokers)


def _path_times(config: Config, name: str) -> Iterator[tuple[Place, str]]:
    ttl_ns = paths.setting(config, name, "ttl")
    settle_ns = paths.settle_ns(config, name)
    if config.paths[name].via and settle_ns < ttl_ns:
        reason = "on a path through a broker `settle` is at least `ttl`: a backlog is no loss"
        yield ("paths", name, "settle"), reason
    bounds = config.defaults
    needed_ns = bounds.spool + bounds.gone_after + settle_ns + 60_000_000_000
    if bounds.horizon < needed_ns:
        needed = f"{needed_ns / 1e9:g}s"
        yield (
            ("defaults", "horizon"),
            f"path {name} needs spool + gone_after + settle + 60s = {needed} or more",
        )


def _unknown(kind: str, name: str, known: dict[str, Any]) -> str:
    return f"no {kind} is called {name!r}; there are: {', '.join(known) or 'none'}"


def _mistake(document: YamlFile, error: Any) -> tuple[int, Place, str]:
    place: Place = tuple(error["loc"])
    kind = error["type"]
    if kind == "missing":
        reason = "is missing"
    elif kind == "extra_forbidden":
        reason = f"unknown key; known here: {', '.join(_keys_at(place[:-1]))}"
    elif kind == "model_type":
        reason = f"should hold keys and values: {', '.join(_keys_at(place))}"
    elif kind == "too_short":
        reason = "needs at least one"
    else:
        reason = error["msg"].removeprefix("Value error, ").replace("Input should", "should")
    # pydantic marks a dictionary's bad key by an element of its own.
    place = tuple(part for part in place if part != "[key]")
    return document.line(place), place, reason


def _keys_at(place: Place) -> list[str]:
    model: type[BaseModel] = Config
    for part in place:
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        inner = _model_in(field.annotation) if field else None
        model = inner or model
    return [f.alias or n for n, f in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)


def _spell(place: Place) -> str:
    text = ".".join(map(str, place)) or "the file"
    text = re.sub(r"//.*@", "//", text)  # a key may be a URL, with what it must not hold
    return text if text.isprintable() else ascii(text)
