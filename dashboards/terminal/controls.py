"""What keys do to the terminal's table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from dashboards.terminal.table import SORTS, TableOptions

HELP: Final = "s sort  r reverse  / filter  ↑↓ page  q quit"
_ORDER: Final = tuple(SORTS)


@dataclass(slots=True)
class TableControls:
    """The table's options, changed by keys; `typing` is true while a filter is being typed."""

    options: TableOptions = field(default_factory=TableOptions)
    typing: bool = False
    ended: bool = False

    def press(self, key: str, *, paths: int, rows: int) -> None:
        """Take a key while so many paths are shown in so many rows."""
        if self.typing:
            self._type(key)
        elif key in {"q", "escape"}:
            self.ended = True
        elif key == "s":
            following = _ORDER[(_ORDER.index(self.options.sort) + 1) % len(_ORDER)]
            self.options = replace(self.options, sort=following, offset=0)
        elif key == "r":
            self.options = replace(self.options, reverse=not self.options.reverse, offset=0)
        elif key == "/":
            self.typing = True
        else:
            step = {"up": -1, "down": 1, "page up": -rows, "page down": rows, "home": -paths}.get(key, 0)
            offset = min(max(0, self.options.offset + step), max(0, paths - rows))
            self.options = replace(self.options, offset=offset)

    def foot(self) -> str:
        """Return the last line: what is being typed, or what keys there are."""
        return f"filter: {self.options.filter}▏(enter)" if self.typing else HELP

    def _type(self, key: str) -> None:
        text = self.options.filter
        if key in {"enter", "escape"}:
            self.typing = False
            text = text if key == "enter" else ""
        elif key == "backspace":
            text = text[:-1]
        elif len(key) == 1 and key.isprintable():
            text += key
        self.options = replace(self.options, filter=text, offset=0)
