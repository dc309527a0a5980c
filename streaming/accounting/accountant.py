"""The accounting of many paths in one process's memory: takes bytes of records, gives rows and dead letters.

The Spark job has shards instead (streaming/shard).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from collectors.config.paths import Rules
from collectors.contract import record_codec, records
from collectors.contract.window_rows import LiveRow
from streaming.accounting.path import PathState


class DeadLetter(NamedTuple):
    """A record that was not taken in, or not wholly, and why."""

    reason: str
    detail: str


class Fed(NamedTuple):
    """What one record made."""

    rows: list[bytes]  # of final windows, encoded
    dead_letter: DeadLetter | None


class PackedWindows:
    """The final windows of one path, packed: they are kept only for late revisions."""

    def __init__(self, state: PathState) -> None:
        self._state = state
        self._kept: dict[int, bytes] = {}
        state.keep_windows_with(self._take)

    def tidy(self) -> None:
        """Pack what changed, and throw away what is not needed any longer."""
        for start in self._state.forgotten_windows():
            self._kept.pop(start, None)
        for start, data in self._state.dirty_windows().items():
            self._kept[start] = zlib.compress(data, 1)

    def _take(self, start: int) -> bytes | None:
        data = self._kept.get(start)
        return None if data is None else zlib.decompress(data)


class Accountant:
    """Paths by name; one begins when its first record comes. `tidy` is to be called from time to time."""

    def __init__(self, rules_of: Callable[[str], Rules]) -> None:
        self._rules_of: Final = rules_of
        self._states: dict[str, PathState] = {}
        self._packed: dict[str, PackedWindows] = {}

    def feed(self, value: bytes, append_ns: int, path: str | None = None) -> Fed:
        """Take in a record's bytes; `path` is its key, where it has one.

        Bad bytes raise nothing: they become a dead letter.
        """
        try:
            record = record_codec.decode(value)
        except records.BadRecord as bad:
            return Fed([], DeadLetter(bad.reason, bad.detail))
        name = record.header.path if path is None else path
        state = self._states.get(name)
        if state is None:
            state = self._states[name] = PathState(name, self._rules_of(name))
            self._packed[name] = PackedWindows(state)
        rows = state.apply(record, append_ns)
        rejected = state.rejection
        return Fed(rows, None if rejected is None else DeadLetter(rejected.reason, rejected.detail))

    def live(self) -> list[LiveRow]:
        """Returns a live row for each path."""
        found = (state.live() for _, state in sorted(self._states.items()))
        return [each for each in found if each is not None]

    def forget(self, before_append_ns: int) -> list[str]:
        """Drop the paths of which Kafka took nothing since then; returns their names."""
        gone = [name for name, state in self._states.items() if state.last_append_ns < before_append_ns]
        for name in gone:
            del self._states[name], self._packed[name]
        return gone

    def tidy(self) -> None:
        """Pack the final windows."""
        for windows in self._packed.values():
            windows.tidy()
