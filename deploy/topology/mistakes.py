"""What is wrong with a topology, told at once: file, line, key and reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from collectors.config.load import ConfigError
from collectors.config.mistakes import Mistake, key_text
from collectors.config.yaml_lines import Place


@dataclass(frozen=True)
class Source:
    """Where a topology came from, on which line each part of it stands, and what is wrong with it already."""

    name: str
    line: Callable[[Place], int] | None = None
    found: tuple[tuple[int, Place, str], ...] = ()

    def refuse(self, mistakes: Iterable[Mistake]) -> None:
        """Raises ConfigError with these and those that were found before, if there are any."""
        told = [(self.line(place) if self.line else 0, place, reason) for place, reason in mistakes]
        told += self.found
        if told:
            told.sort(key=lambda m: (m[0], [str(part) for part in m[1]]))
            raise ConfigError([self._text(*mistake) for mistake in told])

    def _text(self, line: int, place: Place, reason: str) -> str:
        where = f"{self.name}:{line}" if self.line else self.name
        return f"{where}: {key_text(place)}: {reason}"
