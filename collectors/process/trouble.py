"""Logs a lasting trouble when it begins and when it is over, not at each try."""

from __future__ import annotations

import logging
from typing import Final

_MOST_CAUSES: Final = 8  # a text with a number in it is another one each time


class Trouble:
    """What is wrong with one thing now. One thread writes it, others may read `text`."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._told: set[str] = set()
        self.text: str | None = None  # None: nothing is wrong

    def tell(self, text: str, level: int = logging.WARNING) -> None:
        """Notes what is wrong; logs each text once while the trouble lasts, also when two take turns."""
        self.text = text
        if text not in self._told and len(self._told) < _MOST_CAUSES:
            self._told.add(text)
            self._log.log(level, "%s", text)

    def over(self, text: str) -> None:
        """Notes that nothing is wrong, and logs `text` if something was."""
        if self.text is not None:
            self._log.info("%s", text)
        self.text = None
        self._told.clear()
