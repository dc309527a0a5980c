"""What is wrong with one thing, as the log tells it: when it begins and when it is over, not at each try."""

from __future__ import annotations

import logging
from typing import Final

_MOST_CAUSES: Final = 8  # a text with a number in it is another one each time


class Trouble:
    """For one thread to write, and for others to read `text`."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._told: set[str] = set()
        self.text: str | None = None  # None: nothing is wrong

    def tell(self, text: str, level: int = logging.WARNING) -> None:
        """It is so now. Logged once while the trouble lasts, also where two causes take turns."""
        self.text = text
        if text not in self._told and len(self._told) < _MOST_CAUSES:
            self._told.add(text)
            self._log.log(level, "%s", text)

    def over(self, text: str) -> None:
        """Nothing is wrong; logged where something was."""
        if self.text is not None:
            self._log.info("%s", text)
        self.text = None
        self._told.clear()
