"""The final windows of a run, on disk while it goes on: of each the newest revision counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from collectors.contract.window_rows import WindowRow, decode_window

_COUNTED: Final = ("received", "refused", "lost")


class _Kept(NamedTuple):
    offset: int
    length: int
    counts: tuple[int, ...]


class Windows:
    """Takes encoded rows; for one thread at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w+b")
        self._end = 0
        self._kept: dict[str, dict[int, _Kept]] = {}  # by path and begin
        self._sums = [0] * len(_COUNTED)

    def add(self, row: bytes) -> None:
        found = decode_window(row)
        counts = tuple(found["classes"][name] for name in _COUNTED)
        windows = self._kept.setdefault(found["path"], {})
        old = windows.get(found["window_start_ns"])
        before = old.counts if old else (0,) * len(_COUNTED)
        self._sums = [sum_ + new - was for sum_, new, was in zip(self._sums, counts, before, strict=True)]
        self._file.seek(self._end)
        self._file.write(row)
        windows[found["window_start_ns"]] = _Kept(self._end, len(row), counts)
        self._end += len(row)

    @property
    def lost_share(self) -> float:
        """How much of what is decided by now was lost."""
        received, refused, lost = self._sums
        return lost / max(1, received + refused + lost)

    @property
    def paths(self) -> list[str]:
        return sorted(self._kept)

    def encoded(self, path: str) -> Iterator[bytes]:
        """Yield the rows of a path by time."""
        for _, kept in sorted(self._kept.get(path, {}).items()):
            self._file.seek(kept.offset)
            yield self._file.read(kept.length)

    def rows(self, path: str) -> list[WindowRow]:
        return [decode_window(row) for row in self.encoded(path)]

    def close(self) -> None:
        self._file.close()
