"""Places within nested dicts and lists, for tests that change one value: `from nested import places`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Place = tuple[Any, ...]  # the keys and numbers that lead to a value


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Yield the places of all values within this one."""
    if here:
        yield here
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*here, key))


def put(value: Any, place: Place, new: Any) -> None:
    """Put a value there; raises TypeError or LookupError if there is no such place."""
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = new
