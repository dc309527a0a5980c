"""The sequence numbers received of one stream and second, as runs without a hole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import Received

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FIRST, END, FIRST_SENT, LAST_SENT = 0, 1, 2, 3  # columns; a run holds numbers from FIRST to END - 1


class Runs:
    """Disjoint runs that do not touch, ascending; with the send times at their edges, for outages."""

    __slots__ = ("table",)

    def __init__(self, table: Ints | None = None) -> None:
        self.table: Ints = np.empty((0, 4), np.int64) if table is None else table

    def add(self, rows: Received, run: tuple[int, int] | None) -> Mask | None:
        """Take in numbers in order of arrival; a mask of those not seen before, or None where all are new.

        `run` is that of the rows, where they are one.
        """
        table = self.table
        if run is not None:  # the main road
            first, end = run
            first_sent_ns = rows.start_ns + int(rows.from_start_ns[0])
            last_sent_ns = rows.start_ns + int(rows.from_start_ns[-1])
            if len(table) and first == table[-1, END]:
                self.table = table = table.copy()
                table[-1, END], table[-1, LAST_SENT] = end, last_sent_ns
                return None
            block, fresh = np.array([[first, end, first_sent_ns, last_sent_ns]], np.int64), None
        else:
            block, fresh = _blocks(rows.seq, rows.sent_ns)
        if not len(table):
            self.table = block
            return fresh
        if block[0, FIRST] >= table[-1, END]:
            self.table = _touching(np.concatenate((table, block)))
            return fresh
        seq = rows.seq
        seen = self.holds(seq)
        if seen.any():
            fresh = ~seen if fresh is None else fresh & ~seen
            if not fresh.any():
                return fresh
            block, _ = _blocks(seq[fresh], rows.sent_ns[fresh])
        joined = np.concatenate((table, block))
        self.table = _touching(joined[np.argsort(joined[:, FIRST], kind="stable")])
        return fresh

    def holds(self, seq: Ints) -> Mask:
        """Which of these numbers are in a run."""
        place = np.searchsorted(self.table[:, FIRST], seq, "right") - 1
        found: Mask = (place >= 0) & (seq < self.table[place, END])
        return found

    def below(self, bounds: Ints) -> Ints:
        """For each bound: how many received numbers are less than it."""
        if not len(self.table):
            return np.zeros(len(bounds), np.int64)
        lengths = self.table[:, END] - self.table[:, FIRST]
        total = np.concatenate(([0], np.cumsum(lengths)))
        place = np.searchsorted(self.table[:, FIRST], bounds, "right")
        inside = np.minimum(bounds, self.table[place - 1, END]) - self.table[place - 1, FIRST]
        return np.where(place > 0, total[place - 1] + inside, 0)

    @property
    def count(self) -> int:
        table = self.table
        if len(table) == 1:  # the main road
            return int(table[0, END] - table[0, FIRST])
        return int((table[:, END] - table[:, FIRST]).sum())


def _blocks(seq: Ints, sent_ns: Ints) -> tuple[Ints, Mask | None]:
    steps = np.diff(seq)
    fresh: Mask | None = None
    if len(steps) and int(steps.min()) < 1:
        order = np.argsort(seq, kind="stable")
        seq, sent_ns = seq[order], sent_ns[order]
        first = np.concatenate(([True], np.diff(seq) > 0))
        if not first.all():
            fresh = np.zeros(len(seq), np.bool_)
            fresh[order[first]] = True
            seq, sent_ns = seq[first], sent_ns[first]
        steps = np.diff(seq)
    cuts = np.flatnonzero(steps > 1)
    block = np.empty((len(cuts) + 1, 4), np.int64)
    block[0, FIRST], block[1:, FIRST] = seq[0], seq[cuts + 1]
    block[-1, END], block[:-1, END] = seq[-1] + 1, seq[cuts] + 1
    block[0, FIRST_SENT], block[1:, FIRST_SENT] = sent_ns[0], sent_ns[cuts + 1]
    block[-1, LAST_SENT], block[:-1, LAST_SENT] = sent_ns[-1], sent_ns[cuts]
    return block, fresh


def _touching(table: Ints) -> Ints:
    """Runs that touch become one."""
    starts = np.flatnonzero(np.concatenate(([True], table[1:, FIRST] > table[:-1, END])))
    if len(starts) == len(table):
        return table
    ends = np.concatenate((starts[1:] - 1, [len(table) - 1]))
    joined = table[starts]
    joined[:, END] = table[ends, END]
    joined[:, LAST_SENT] = table[ends, LAST_SENT]
    return joined
