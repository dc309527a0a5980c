"""A sender's ledger: the outcome of each number it sent, and how many messages were due, by the second.

Numbers are given in order of sending, so the messages of a second are a range of numbers, and their outcomes
are a byte each.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from collectors.contract.records import MAX_ROWS, OUTCOMES, UNSENT_REASONS, Ledger, Outcome, UnsentReason

CODES: Final[dict[Outcome, int]] = {outcome: code for code, outcome in enumerate(OUTCOMES)}
UNSETTLED: Final = CODES["unsettled"]
PRESETTLED: Final = CODES["presettled"]
_ONE: Final = [bytes([code]) for code in range(len(OUTCOMES))]
KEEP_SECONDS: Final = 15 * 60  # the accounting's horizon: what the network says later changes nothing


@dataclass(slots=True)
class LedgerSecond:
    """The messages sent in one second, and those that were due in it."""

    second: int
    first_seq: int = 0
    outcomes: bytearray = field(default_factory=bytearray)
    body_bytes: int = 0
    open: int = 0  # messages whose outcome may still change
    due: int = 0
    backlog: int = 0
    unsent: list[int] = field(default_factory=lambda: [0] * len(UNSENT_REASONS))
    revision: int = 0
    dirty: bool = True
    logged: int = 0  # outcomes that the journal has

    def rows(self) -> Ledger:
        """Returns the outcomes as ranges of numbers."""
        codes = np.frombuffer(bytes(self.outcomes), np.uint8)
        if not len(codes):
            nothing = np.zeros(0, np.int64)
            return Ledger(nothing, nothing, codes)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1)).astype(np.int64)
        lengths = np.diff(np.append(starts, len(codes)))
        return Ledger(starts + self.first_seq, lengths, codes[starts])

    def parts(self) -> list[Ledger]:
        """Returns the same in parts of at most a record's size; one part where there is nothing."""
        rows = self.rows()
        places = range(0, len(rows.first_seq), MAX_ROWS) or (0,)
        spans = [slice(at, at + MAX_ROWS) for at in places]
        return [Ledger(rows.first_seq[s], rows.length[s], rows.outcome[s]) for s in spans]

    def unsent_by_reason(self) -> dict[UnsentReason, int]:
        return {reason: n for reason, n in zip(UNSENT_REASONS, self.unsent, strict=True) if n}


class SenderLedger:
    """Has every second from `first` on, including those in which nothing happened."""

    def __init__(self, first: int) -> None:
        self._seconds: dict[int, LedgerSecond] = {}
        self._firsts: list[tuple[int, int]] = []  # (first number, second) of the seconds with messages
        self._next_close = first
        self._newest: LedgerSecond | None = None
        self.next_seq = 0
        self.touched: dict[int, LedgerSecond] = {}  # since the journal was written last
        self.settled: list[list[int]] = []  # first number, count, code: of numbers the journal knows

    def due(self, second: int, count: int = 1) -> None:
        """Messages are due in a second."""
        entry = self._touch(second)
        entry.due += count
        entry.backlog += count

    def give_up(self, second: int, reason: UnsentReason) -> None:
        """A message that was due in a second will not be sent."""
        entry = self._touch(second)
        entry.backlog -= 1
        entry.unsent[UNSENT_REASONS.index(reason)] += 1

    def caught_up(self, second: int, count: int = 1) -> None:
        """Messages that were due in a second are sent, whenever that is."""
        self._touch(second).backlog -= count

    def sent(self, second: int, count: int, body_bytes: int, code: int) -> None:
        """The next `count` numbers are sent in a second; seconds never go back."""
        entry = self._touch(second)
        if not entry.outcomes:
            entry.first_seq = self.next_seq
            self._firsts.append((self.next_seq, second))
        entry.outcomes += _ONE[code] * count
        entry.body_bytes += body_bytes
        if code == UNSETTLED:
            entry.open += count
        self._newest = entry
        self.next_seq += count

    def settle(self, seq: int, code: int, *, final: bool = True) -> None:
        """Sets the outcome of a number; `final` says that it cannot change any more."""
        entry = self._find(seq)
        if entry is None:
            return
        index = seq - entry.first_seq
        if entry.outcomes[index] != code:
            entry.outcomes[index] = code
            entry.dirty = True
            if index < entry.logged:
                self._note(seq, code)
        if final:
            entry.open -= 1

    def _note(self, seq: int, code: int) -> None:
        """Remembers an outcome for the journal; joins consecutive numbers."""
        ranges = self.settled
        if ranges and ranges[-1][2] == code and ranges[-1][0] + ranges[-1][1] == seq:
            ranges[-1][1] += 1
        else:
            ranges.append([seq, 1, code])

    def restore(self, entry: LedgerSecond) -> None:
        """Adds a second from a journal; call in order of seconds."""
        self._seconds[entry.second] = entry
        if entry.outcomes:
            self._firsts.append((entry.first_seq, entry.second))
            self.next_seq = entry.first_seq + len(entry.outcomes)

    def close(self, until: int) -> Iterator[LedgerSecond]:
        """Yields the seconds before `until` that changed since they were published, oldest first.

        A second counts as published when the iterator is asked for the next one.
        """
        while self._next_close < until:
            self._entry(self._next_close)
            self._next_close += 1
        for second in sorted(self._seconds):
            entry = self._seconds[second]
            if second >= until:
                break
            if entry.dirty:
                yield entry
                entry.dirty = False
                entry.revision += 1
        self._forget(until)

    def seconds(self) -> list[LedgerSecond]:
        """Returns the seconds that are kept, oldest first."""
        return [self._seconds[second] for second in sorted(self._seconds)]

    def _touch(self, second: int) -> LedgerSecond:
        entry = self.touched.get(second)
        if entry is None:
            entry = self.touched[second] = self._entry(second)
        entry.dirty = True
        return entry

    def _entry(self, second: int) -> LedgerSecond:
        entry = self._seconds.get(second)
        if entry is None:
            entry = self._seconds[second] = LedgerSecond(second)
        return entry

    def _find(self, seq: int) -> LedgerSecond | None:
        newest = self._newest
        if newest is not None and newest.first_seq <= seq < newest.first_seq + len(newest.outcomes):
            return newest
        index = bisect.bisect_right(self._firsts, (seq, 1 << 62)) - 1
        entry = self._seconds.get(self._firsts[index][1]) if index >= 0 else None
        if entry is None or not entry.first_seq <= seq < entry.first_seq + len(entry.outcomes):
            return None
        return entry

    def _forget(self, until: int) -> None:
        done = [
            second
            for second, entry in self._seconds.items()
            if second < until
            and (
                (not entry.open and not entry.backlog and second < until - 1) or second < until - KEEP_SECONDS
            )
        ]
        for second in done:
            del self._seconds[second]
        if done:
            self._firsts = [pair for pair in self._firsts if pair[1] in self._seconds]
