"""Rows of windows in a file, as hours of many paths have too many for the memory, and their figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from collectors.contract.window_rows import WindowRow, decode_window
from deploy.loads.figures import figures_of


class Rows:
    """A line for each row, revisions too; the last one of a window counts."""

    def __init__(self, file: BinaryIO) -> None:
        """`file` is open for writing and reading, and empty."""
        self._file = file
        self._newest: dict[tuple[str, int], int] = {}  # by path and start: where its line begins

    def add(self, rows: Iterable[bytes]) -> None:
        for row in rows:
            found = decode_window(row)
            self._newest[found["path"], found["window_start_ns"]] = self._file.tell()
            self._file.write(row + b"\n")

    def figures(self, unbounded: frozenset[str]) -> dict[str, dict[str, Any]]:
        """Returns the figures of each path, and of `all`."""
        return figures_of(self._newest_rows(), unbounded)

    def _newest_rows(self) -> Iterator[WindowRow]:
        self._file.flush()
        for at in sorted(self._newest.values()):
            self._file.seek(at)
            yield decode_window(self._file.readline().rstrip(b"\n"))
        self._file.seek(0, 2)
