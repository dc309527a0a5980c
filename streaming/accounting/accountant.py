"""Many paths: bytes of records in, rows and dead letters out. The Spark job and `inflight run` share it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from collectors import record_codec, records
from collectors.paths import Rules
from streaming.accounting.path import PathState
from streaming.rows import LiveRow


class DeadLetter(NamedTuple):
    """A record that was not taken in, or not wholly, and why."""

    reason: str
    detail: str


class Fed(NamedTuple):
    """What one record brought forth."""

    path: str | None
    rows: list[bytes]  # of final windows, encoded
    dead_letter: DeadLetter | None


class Shelf:
    """Final windows of one path, squeezed, for a process that keeps all its state in memory."""

    def __init__(self, state: PathState) -> None:
        self._state = state
        self._kept: dict[int, bytes] = {}
        state.keep_windows_with(self._take)

    def tidy(self) -> None:
        """Put what changed onto the shelf, and throw away what is not needed any longer."""
        for start, data in self._state.dirty_windows().items():
            self._kept[start] = zlib.compress(data, 1)
        for start in self._state.forgotten_windows():
            self._kept.pop(start, None)

    def _take(self, start: int) -> bytes | None:
        data = self._kept.get(start)
        return None if data is None else zlib.decompress(data)


class Accountant:
    """The paths of one partition, shard or process, by name.

    `states` may be put in from kept state; a path that is not there begins when its first record comes.
    """

    def __init__(self, rules_of: Callable[[str], Rules], *, in_memory: bool = False) -> None:
        """`in_memory`: nothing keeps the state but this; `tidy` is then to be called from time to time."""
        self._rules_of: Final = rules_of
        self._shelves: Final[dict[str, Shelf] | None] = {} if in_memory else None
        self.states: dict[str, PathState] = {}
        self.dead_letters: dict[str, int] = {}  # of bytes that are no record of any path

    def feed(self, value: bytes, append_ns: int, path: str | None = None) -> Fed:
        """Take in a record's bytes; `path` is what its key says, where it has one.

        Bad bytes raise nothing: they are a dead letter.
        """
        try:
            record = record_codec.decode(value)
        except records.BadRecord as bad:
            self.dead_letters[bad.reason] = self.dead_letters.get(bad.reason, 0) + 1
            return Fed(None, [], DeadLetter(bad.reason, bad.detail))
        name = record.header.path if path is None else path
        state = self.states.get(name)
        if state is None:
            state = self.states[name] = PathState(name, self._rules_of(name))
            if self._shelves is not None:
                self._shelves[name] = Shelf(state)
        rows = state.apply(record, append_ns)
        rejected = state.rejection
        return Fed(name, rows, None if rejected is None else DeadLetter(rejected.reason, rejected.detail))

    def live(self, paths: Iterable[str] | None = None) -> list[LiveRow]:
        """One row a path, of all or of these."""
        names = sorted(self.states if paths is None else paths)
        found = (self.states[name].live() for name in names)
        return [each for each in found if each is not None]

    def forget(self, before_append_ns: int) -> list[str]:
        """Drop the paths of which nothing was taken by Kafka since; their names."""
        gone = [name for name, state in self.states.items() if state.last_append_ns < before_append_ns]
        for name in gone:
            del self.states[name]
            if self._shelves is not None:
                del self._shelves[name]
        return gone

    def tidy(self) -> None:
        """Squeeze final windows, which are kept only for late revisions; where all is kept in memory."""
        for shelf in (self._shelves or {}).values():
            shelf.tidy()
