"""The live row of a path: what is known now of the windows that are not final yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import LiveEnd, LiveRow
from streaming.accounting import classes
from streaming.accounting.ends import End
from streaming.accounting.latencies import RESPONSE, given_percentiles, rounded, sums
from streaming.accounting.path_ends import PathEnds
from streaming.accounting.row import PathInfo
from streaming.accounting.window import Window
from streaming.histogram import Histogram, highest, index, indexes, ranks

SUSPECT_AT_LEAST_NS: Final = SECOND_NS
SUSPECT_TIMES: Final = 3  # the last final p99.9


class LiveFigures:
    """Makes live rows; remembers what it counted of windows that have not changed since."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[int, dict[int, int]]] = {}  # sent, and pending by second
        self.last_received_ns: int | None = None

    def received(self, at_ns: int) -> None:
        """Take in the time of an arrival."""
        if at_ns:
            self.last_received_ns = max(self.last_received_ns or 0, at_ns)

    def changed(self, start: int) -> None:
        """Forget what was counted of that window."""
        self._counted.pop(start, None)

    def row(
        self,
        path: PathInfo,
        rules: Rules,
        windows: Sequence[Window],
        ends: PathEnds,
        outage_since_ns: int | None,
        p999_ns: int,
        appended_ns: int,
    ) -> LiveRow:
        living = ends.living()
        receivers = [end.frontier_ns for end in living if end.role == "receiver"]
        measured_ns = min(receivers, default=ends.newest_ns)
        pending, newest = self._pending(windows)
        suspect_ns = measured_ns - max(SUSPECT_AT_LEAST_NS, SUSPECT_TIMES * p999_ns)
        start_ns = measured_ns - measured_ns % rules.window_ns if newest is None else newest.start_ns
        sent, own = (0, {}) if newest is None else self._count(newest)
        response, lower = ({}, []) if newest is None else _response(newest, own, measured_ns)
        behind = [end.own_frontier_ns - end.oldest_due_ns for end in living if end.oldest_due_ns is not None]
        return {
            **path.named(),
            "at_ns": max((end.own_frontier_ns for end in ends.by_key.values()), default=0),
            "appended_ns": appended_ns,
            "window_start_ns": start_ns,
            "window_ns": rules.window_ns,
            "sent": sent,
            "received": 0 if newest is None else newest.samples.count,
            "pending": sum(pending.values()),
            "suspect": sum(n for second, n in pending.items() if (second + 1) * SECOND_NS <= suspect_ns),
            "oldest_pending_ns": min(pending) * SECOND_NS if pending else None,
            "behind_ns": max(0, *behind) if behind else 0,
            "last_received_ns": self.last_received_ns,
            "outage_since_ns": outage_since_ns,
            "duplicate": 0 if newest is None else newest.counts["duplicate"],
            "response": response,
            "lower_bound": lower,
            "ends": [_live_end(end) for end in sorted(living, key=lambda end: end.key)],
        }

    def _pending(self, windows: Sequence[Window]) -> tuple[dict[int, int], Window | None]:
        """Returns how many messages have not arrived yet, by second, and the newest window with data."""
        pending: dict[int, int] = {}
        newest: Window | None = None
        for window in windows:
            _, by_second = self._count(window)
            for second, count in by_second.items():
                pending[second] = pending.get(second, 0) + count
            if window.cells and (newest is None or window.start_ns > newest.start_ns):
                newest = window
        return pending, newest

    def _count(self, window: Window) -> tuple[int, dict[int, int]]:
        found = self._counted.get(window.start_ns)
        if found is None:
            counted = classes.count_classes(window, 0)  # what is missing counts as lost: it is pending
            found = self._counted[window.start_ns] = counted.sent, counted.lost_by_second
        return found


def _live_end(end: End) -> LiveEnd:
    return {
        "role": end.role,
        "name": end.name,
        "run": end.run,
        "link": end.link,
        "frontier_ns": end.frontier_ns,
        "peer": end.peer,
    }


def _response(window: Window, pending: dict[int, int], measured_ns: int) -> tuple[dict[str, int], list[str]]:
    """Returns percentiles of response latency, and the names of those that are lower bounds.

    A message missing in a second that the receivers have measured counts with its age: its latency is at
    least that.
    """
    ages = {
        measured_ns - (second + 1) * SECOND_NS: count
        for second, count in sorted(pending.items())
        if (second + 1) * SECOND_NS <= measured_ns
    }
    samples = window.samples
    received, missing = samples.count, sum(ages.values())
    total = received + missing
    if not total:
        return {}, []
    given = given_percentiles(total)
    few = None if ages else samples.few_responses()
    if few is not None:
        few.sort()
        places = [rank - 1 for rank in ranks(total, given.values())]
        values = [highest(index(value)) for value in few[places].tolist()]
        largest = int(few[-1])
        (sum_ns,) = sums(few[None, :], max(largest, -int(few[0])))
    else:
        samples.flush()
        histogram = samples.latencies.histogram(RESPONSE)
        if ages:
            of_ages = indexes(np.fromiter(ages.keys(), np.int64)), np.fromiter(ages.values(), np.int64)
            histogram.add(Histogram.of_pairs(*of_ages))
        values = histogram.percentiles(given.values())
        totals = samples.latencies.totals[RESPONSE]
        largest, sum_ns = totals.largest, totals.total
    largest = max(largest if received else 0, *ages, 0)
    found = {name: min(value, largest) for name, value in zip(given, values, strict=True)}
    found["max"] = largest
    lower = [name for name, (over, of) in given.items() if total - total * over // of > received]
    if received:
        found["mean"] = rounded(sum_ns, received)
    if missing:
        lower.append("max")
    return found, lower
