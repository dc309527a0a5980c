"""Reads the config file, and tells all its mistakes at once, with file, line, key and reason."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path as File
from typing import Final

from pydantic import ValidationError

from collectors.config import marking, paths
from collectors.config.mistakes import Mistake, key_text, of_validation, unknown_name
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
    return parse(read_text(file), str(file))


def read_text(file: File) -> str:
    """Reads a file that a person wrote; raises ConfigError where it cannot be read, or is no text."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise ConfigError([f"{file}: is longer than {_LONGEST >> 20} MiB"])
        return data.decode()
    except OSError as error:
        raise ConfigError([f"{file}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{file}: is not UTF-8 text"]) from None


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
        mistakes = of_validation(Config, error)
    else:
        mistakes = list(_references(config))
    found += [(document.line(place), place, reason) for place, reason in mistakes]
    if found or config is None:
        found.sort(key=lambda m: (m[0], [str(part) for part in m[1]]))
        raise ConfigError([f"{file}:{line}: {key_text(place)}: {reason}" for line, place, reason in found])
    return config


def _references(config: Config) -> Iterator[Mistake]:
    """Yields the place and reason of each mistake that only other parts of the file show."""
    for name, endpoint in config.endpoints.items():
        if config.meshes and endpoint.mesh not in config.meshes:
            yield ("endpoints", name, "mesh"), unknown_name("mesh", endpoint.mesh, config.meshes)
    for number, slo in enumerate(config.slos):
        for pattern in slo.paths:
            if not fnmatch.filter(config.paths, pattern):
                yield ("slos", number, "paths"), f"no path is called {pattern!r}"
    for name in config.paths:
        yield from _path_references(config, name)
        yield from _path_times(config, name)
        yield from marking.mistakes(config, name)


def _path_references(config: Config, name: str) -> Iterator[Mistake]:
    path = config.paths[name]
    here: Place = ("paths", name)
    if path.source not in config.endpoints:
        yield (*here, "from"), unknown_name("endpoint", path.source, config.endpoints)
    for target in path.to:
        if target not in config.endpoints:
            yield (*here, "to"), unknown_name("endpoint", target, config.endpoints)
        if len(path.to) > 1 and paths.member_name(name, target) in config.paths:
            yield ("paths", paths.member_name(name, target)), f"is also the name of {name}'s path to {target}"
    if len(set(path.to)) != len(path.to):
        yield (*here, "to"), "the same endpoint twice"
    if path.via is not None and path.via not in config.brokers:
        yield (*here, "via"), unknown_name("broker", path.via, config.brokers)


def _path_times(config: Config, name: str) -> Iterator[Mistake]:
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
