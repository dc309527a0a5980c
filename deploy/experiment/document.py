"""Puts values into a plan's document: a form's, and the levels of factors by their paths. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]
# What a document path may begin with, and where that stands.
ROOTS: Final[Mapping[str, tuple[str, ...]]] = {
    "topology": ("network", "topology"),
    "network": ("network",),
    "load": ("load",),
    "phases": ("phases",),
    "actions": ("actions",),
}


def merged(value: Json, change: Mapping[str, Any]) -> Json:
    """Return the value with the keys of the change in place of its own, at any depth; null takes one away."""
    deeper = {
        key: merged(value[key], new)
        for key, new in change.items()
        if isinstance(new, dict) and isinstance(value.get(key), dict)
    }
    gone = {key for key, new in change.items() if new is None}
    return {key: new for key, new in {**value, **change, **deeper}.items() if key not in gone}


def changed(document: Json, values: Mapping[str, Any]) -> Json:
    """Return the document with a value at each document path; raises ValueError for a path that is none."""
    made = copy.deepcopy(document)
    for path, value in values.items():
        _put(made, path, value)
    return made


def root(path: str) -> tuple[tuple[str, ...], str]:
    """Return the place where a path begins, and the rest of it; raises ValueError where it is none."""
    first, _, rest = path.partition(".")
    if first not in ROOTS:
        raise ValueError(f"`{path}` is no document path; it begins with one of {', '.join(ROOTS)}")
    return ROOTS[first], rest


def _put(document: Json, path: str, value: Any) -> None:
    place, rest = root(path)
    inside: Any = {"root": document}
    key: Any = "root"
    for word in place:
        inside, key = _into(inside, key), word
    while rest:
        inside = _into(inside, key)
        key, rest = _next(inside, rest, path)
    old = inside.get(key) if isinstance(inside, dict) else inside[key]
    if isinstance(old, dict) and isinstance(value, dict):
        value = merged(old, value)
    inside[key] = copy.deepcopy(value)


def _into(inside: Any, key: Any) -> Any:
    """Return what stands at a key, an empty mapping where nothing does."""
    if isinstance(inside, dict) and inside.get(key) is None:
        inside[key] = {}
    return inside[key]


def _next(inside: Any, rest: str, path: str) -> tuple[Any, str]:
    """Return the next key of a path and the rest: names may hold dots, so the longest that is there."""
    if isinstance(inside, list):
        word, _, after = rest.partition(".")
        return _number(inside, word, path), after
    if not isinstance(inside, dict):
        raise ValueError(f"`{path}`: nothing can be set below `{inside}`")  # noqa: TRY004 -- a person's mistake
    there = [key for key in inside if rest == key or rest.startswith(f"{key}.")]
    if there:
        key = max(there, key=len)
        return key, rest[len(key) + 1 :]
    word, _, after = rest.partition(".")
    return word, after


def _number(items: list[Any], word: str, path: str) -> int:
    """Return the place in a list: a number, or of a link its ends, like A--B."""
    if word.isdecimal() and int(word) < len(items):
        return int(word)
    ends = {*word.split("--")}
    for number, item in enumerate(items):
        if isinstance(item, dict) and {item.get("from"), item.get("to")} == ends:
            return number
    raise ValueError(
        f"`{path}`: there is no `{word}`; name one of 0 to {len(items) - 1}, or a link like A--B"
    )
