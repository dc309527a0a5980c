"""Collects what is wrong with a plan, each mistake with its line, so that all are told at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final, NoReturn

from collectors.config.load import ConfigError
from collectors.config.yaml_lines import Place

_KNOWN: Final = "unknown key; known here: "
_LAST: Final = 1 << 30


class Told(Exception):  # noqa: N818 -- no error of its own: what is wrong was told
    """Something is wrong that was added to the lines, and what depends on it cannot be looked at."""


class Lines:
    def __init__(self, file: str, line: Callable[[Place], int]) -> None:
        """`line` gives the line of a place, or of the nearest one around it."""
        self.file, self.line = file, line
        self._told: dict[tuple[int, str], None] = {}

    def __len__(self) -> int:
        return len(self._told)

    def add(self, place: Place, reason: str, when: str = "", line: int | None = None) -> None:
        """Add a mistake; `when` says with which levels it is one. Its line is the place's, unless given."""
        line = self.line(place) if line is None else line
        text = ".".join(map(str, place)) or "the file"
        self._told[line, f"{self.file}:{line}: {text}: {_with_nearest(place, reason)}{when}"] = None

    def add_text(self, text: str) -> None:
        """Add a mistake of another file, as that told it."""
        self._told[_LAST, text] = None

    def give_up(self, place: Place, reason: str, when: str = "") -> NoReturn:
        self.add(place, reason, when)
        raise Told

    def refuse(self) -> None:
        """Raise ConfigError with all of them, if there are any."""
        if self._told:
            raise ConfigError([text for _, text in sorted(self._told, key=lambda one: one[0])])


def without_types(place: Place) -> Place:
    """Return a place without the words that a union of types adds."""
    return tuple(part for part in place if not str(part).startswith(("dict[", "list[", "tuple[")))


def _with_nearest(place: Place, reason: str) -> str:
    """Return the reason; that of an unknown key with the one that may be meant."""
    if not reason.startswith(_KNOWN):
        return reason
    known = reason.removeprefix(_KNOWN)
    near = difflib.get_close_matches(str(place[-1]), known.split(", "), 1)
    return f"unknown key; is `{near[0]}` meant? known here: {known}" if near else reason
