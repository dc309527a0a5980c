"""Bounds on the memory that data from outside may take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

_EACH: Final = 32  # for a value and its place


class Full(Exception):  # noqa: N818 -- it is the memory that is full
    """Something cannot be kept; the text names the bound."""


class MemoryBound:
    """At most so many bytes, reserved by key; reserving a key again replaces what it had."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._taken: dict[Hashable, int] = {}
        self.used_bytes = 0

    def reserve(self, key: Hashable, size: int) -> None:
        """Raises Full, and changes nothing, if that is too much."""
        used_bytes = self.used_bytes - self._taken.get(key, 0) + size
        if used_bytes > self._most_bytes:
            raise Full(f"{self._most_bytes >> 20} MiB are the most that are kept")
        self._taken[key], self.used_bytes = size, used_bytes

    def release(self, keys: Iterable[Hashable]) -> None:
        for key in keys:
            self.used_bytes -= self._taken.pop(key, 0)


def weight(value: Any) -> int:
    """Return about how many bytes a JSON value takes in memory."""
    if isinstance(value, str):
        return _EACH + (len(value) if value.isascii() else 4 * len(value))
    if isinstance(value, Mapping):
        return _EACH + sum(map(weight, value)) + sum(map(weight, value.values()))
    if isinstance(value, list | tuple):
        return _EACH + sum(map(weight, value))
    return _EACH
