"""Single keys from a terminal, without waiting for a line."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Final, Self

# What terminals send for keys that are no characters.
_NAMED: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
}


# A key is one character, or a sequence that begins with escape.
_KEY: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|[\s\S]")


class Keys:
    """While open, the terminal hands over keys as they are pressed and does not show them."""

    def __enter__(self) -> Self:
        self._file = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def read(self, seconds: float) -> list[str]:
        """Return the keys pressed, as characters or names; waits for the first for so long."""
        if not select.select([self._file], [], [], seconds)[0]:
            return []
        data = os.read(self._file, 256).decode(errors="ignore")
        return split(data) if data else ["q"]  # nothing to read means that the terminal is gone


def split(data: str) -> list[str]:
    """Return what was typed, key by key."""
    return [_NAMED.get(key, key) for key in _KEY.findall(data) if key in _NAMED or key.isprintable()]
