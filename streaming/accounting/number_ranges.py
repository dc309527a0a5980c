"""The sequence numbers received of one stream and second, as ranges without a hole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import Received

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FIRST, END, FIRST_SENT, LAST_SENT = 0, 1, 2, 3  # columns; a range holds the numbers FIRST to END - 1


class NumberRanges:
    """Disjoint ranges that do not touch, ascending; with the send times at their edges, for outages."""

    __slots__ = ("table",)

    def __init__(self, table: Ints | None = None) -> None:
        self.table: Ints = np.empty((0, 4), np.int64) if table is None else table

    def add(self, rows: Received, one_range: tuple[int, int] | None) -> Mask | None:
        """Add numbers in order of arrival; returns a mask of those not seen before, or None if all are new.

        `one_range` holds the first number and the end of the rows where these are a single range, in order.
        """
        table = self.table
        if one_range is not None:  # the usual case
            first, end = one_range
            first_sent_ns = rows.start_ns + int(rows.from_start_ns[0])
            last_sent_ns = rows.start_ns + int(rows.from_start_ns[-1])
            if len(table) and first == table[-1, END]:
                self.table = table = table.copy()
                table[-1, END], table[-1, LAST_SENT] = end, last_sent_ns
                return None
            added, fresh = np.array([[first, end, first_sent_ns, last_sent_ns]], np.int64), None
        else:
            added, fresh = _ranges(rows.seq, rows.sent_ns)
        if not len(table):
            self.table = added
            return fresh
        if added[0, FIRST] >= table[-1, END]:
            self.table = _joined(np.concatenate((table, added)))
            return fresh
        seq = rows.seq
        seen = self.holds(seq)
        if seen.any():
            fresh = ~seen if fresh is None else fresh & ~seen
            if not fresh.any():
                return fresh
            added, _ = _ranges(seq[fresh], rows.sent_ns[fresh])
        joined = np.concatenate((table, added))
        self.table = _joined(joined[np.argsort(joined[:, FIRST], kind="stable")])
        return fresh

    def holds(self, seq: Ints) -> Mask:
        """Returns a mask of the numbers that were received."""
        place = np.searchsorted(self.table[:, FIRST], seq, "right") - 1
        found: Mask = (place >= 0) & (seq < self.table[place, END])
        return found

    def below(self, bounds: Ints) -> Ints:
        """Returns for each bound how many received numbers are less than it."""
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
        if len(table) == 1:  # the usual case
            return int(table[0, END] - table[0, FIRST])
        return int((table[:, END] - table[:, FIRST]).sum())


def _ranges(seq: Ints, sent_ns: Ints) -> tuple[Ints, Mask | None]:
    """Returns the ranges of these numbers, and a mask of the first of each number if one comes twice."""
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
    added = np.empty((len(cuts) + 1, 4), np.int64)
    added[0, FIRST], added[1:, FIRST] = seq[0], seq[cuts + 1]
    added[-1, END], added[:-1, END] = seq[-1] + 1, seq[cuts] + 1
    added[0, FIRST_SENT], added[1:, FIRST_SENT] = sent_ns[0], sent_ns[cuts + 1]
    added[-1, LAST_SENT], added[:-1, LAST_SENT] = sent_ns[-1], sent_ns[cuts]
    return added, fresh


def _joined(table: Ints) -> Ints:
    """Returns the ranges with those that touch as one."""
    starts = np.flatnonzero(np.concatenate(([True], table[1:, FIRST] > table[:-1, END])))
    if len(starts) == len(table):
        return table
    ends = np.concatenate((starts[1:] - 1, [len(table) - 1]))
    joined = table[starts]
    joined[:, END] = table[ends, END]
    joined[:, LAST_SENT] = table[ends, LAST_SENT]
    return joined
