"""Final rows of `inflight run`, kept as Parquet, with when the trouble of each event was first shown."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from collectors.contract.events import Event
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker, joined
from deploy.errors import Problem
from streaming.archive import detected
from streaming.archive.layout import ATTRIBUTION, WINDOWS, Layout
from streaming.archive.write import ArchiveWriter
from streaming.exporter.event_effects import Effect

_log: Final = logging.getLogger("inflight.run")
EVERY_SECONDS: Final = 10.0  # whoever broke something asks for its report soon
MAX_BYTES: Final = 64 << 20  # of rows that wait for the disk


class RowArchive:
    """Takes rows from any thread, and never holds one up; `effects` returns what events did."""

    def __init__(
        self,
        folder: Path,
        effects: Callable[[], Iterable[tuple[Event, Effect]]],
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        """Raise Problem where nothing can be written to the folder."""
        self._folder, self._effects, self._every_seconds = folder, effects, every_seconds
        try:
            self._writers = {
                layout: ArchiveWriter(folder, layout=layout) for layout in (WINDOWS, ATTRIBUTION)
            }
        except OSError as error:
            raise Problem(
                f"the archive {folder} cannot be written: {error.strerror or error};"
                " let this user write there, or give another folder"
            ) from None
        self._detected = detected.read(folder)
        self._waiting: deque[tuple[Layout, bytes]] = deque()
        self._bytes = self._dropped = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._trouble = Trouble(_log)
        self._worker = Worker("archive", self._work)

    def start(self) -> None:
        self._worker.start()

    def add(self, row: bytes) -> None:
        """Take a row; the oldest that wait are given up, and counted, where the disk takes none."""
        self._add(WINDOWS, row)

    def add_attribution(self, row: bytes) -> None:
        """Take a row that names hops; the same holds of it."""
        self._add(ATTRIBUTION, row)

    def _add(self, layout: Layout, row: bytes) -> None:
        with self._lock:
            self._waiting.append((layout, row))
            self._bytes += len(row)
            while self._bytes > MAX_BYTES:
                self._bytes -= len(self._waiting.popleft()[1])
                self._dropped += 1

    def not_ready(self) -> str | None:
        """Returns why rows are not kept, or None."""
        return joined(self._worker.problem, self._trouble.text)

    def close(self) -> None:
        """Write what waits; where that fails, say how much is lost."""
        self._stop.set()
        self._worker.join()
        self._write()
        if self._waiting:
            _log.error("%d rows are not in the archive %s", len(self._waiting), self._folder)

    def _work(self) -> None:
        while not self._stop.wait(self._every_seconds):
            self._write()

    def _write(self) -> None:
        with self._lock:
            rows, size = list(self._waiting), self._bytes
            self._waiting.clear()
            self._bytes = 0
        try:
            for layout, writer in self._writers.items():
                if found := [row for of, row in rows if of is layout]:
                    writer.write(found)
                    rows = [one for one in rows if one[0] is not layout]
                    size -= sum(map(len, found))
                writer.merge()
            self._keep_detected()
        except OSError as error:
            with self._lock:
                self._waiting.extendleft(reversed(rows))
                self._bytes += size
            why = error.strerror or error
            self._trouble.tell(f"the archive {self._folder} cannot be written: {why}", logging.ERROR)
        else:
            gone = f"; {self._dropped} rows were given up" if self._dropped else ""
            self._trouble.over(f"the archive {self._folder} is written again{gone}")
            self._dropped = 0

    def _keep_detected(self) -> None:
        found = {event.key: did.detected_ns for event, did in self._effects() if did.detected_ns is not None}
        if found.items() <= self._detected.items():
            return
        self._detected |= found
        detected.write(self._folder, self._detected)
