"""The final windows of a run, on disk while it goes on: of each the newest revision counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from collectors.contract.window_rows import WindowRow, decode_window

Spans = Sequence[tuple[int, int]]  # of times in ns, [from, to)
ALWAYS: Final = ((0, 1 << 63),)


class Decided(NamedTuple):
    """What became of messages."""

    received: int = 0
    refused: int = 0
    lost: int = 0

    def less(self, other: Decided) -> Decided:
        return Decided(*(one - before for one, before in zip(self, other, strict=True)))

    def plus(self, other: Decided) -> Decided:
        return Decided(*(one + more for one, more in zip(self, other, strict=True)))

    @property
    def lost_share(self) -> float:
        return self.lost / max(1, sum(self))


class _Kept(NamedTuple):
    offset: int
    length: int
    decided: Decided


class Windows:
    """Takes encoded rows; for one thread at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w+b")
        self._end = 0
        self._kept: dict[str, dict[int, _Kept]] = {}  # by path and begin
        self.decided = Decided()  # of all windows by now

    def add(self, row: bytes) -> None:
        found = decode_window(row)
        classes = found["classes"]
        decided = Decided(classes["received"], classes["refused"], classes["lost"])
        windows = self._kept.setdefault(found["path"], {})
        old = windows.get(found["window_start_ns"])
        self.decided = self.decided.plus(decided).less(old.decided if old else Decided())
        self._file.seek(self._end)
        self._file.write(row)
        windows[found["window_start_ns"]] = _Kept(self._end, len(row), decided)
        self._end += len(row)

    @property
    def paths(self) -> list[str]:
        return sorted(self._kept)

    def encoded(self, path: str, spans: Spans = ALWAYS) -> Iterator[bytes]:
        """Yield the rows of a path by time, of windows that began in one of these times."""
        for start, kept in sorted(self._kept.get(path, {}).items()):
            if any(from_ns <= start < to_ns for from_ns, to_ns in spans):
                self._file.seek(kept.offset)
                yield self._file.read(kept.length)

    def rows(self, path: str, spans: Spans = ALWAYS) -> list[WindowRow]:
        return [decode_window(row) for row in self.encoded(path, spans)]

    def close(self) -> None:
        self._file.close()
