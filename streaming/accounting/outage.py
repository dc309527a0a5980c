"""How long a stream's messages did not arrive: in one window, and carried on from window to window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streaming.accounting.classes import LOST, REFUSED
from streaming.accounting.number_ranges import FIRST, FIRST_SENT, LAST_SENT
from streaming.accounting.window import Cell

Ints = NDArray[np.int64]


@dataclass(slots=True)
class OpenOutages:
    """Outages that were not over at the end of the newest final window: since when, by stream."""

    since_ns: dict[str, int]

    def end(self, streams: Iterable[str]) -> None:
        for stream in streams:
            self.since_ns.pop(stream, None)

    def go_on(self, stream: str, outage: Outage) -> None:
        """Take in what the next window says of a stream."""
        if outage.since_ns is None:
            self.since_ns.pop(stream, None)
        elif outage.delivered:
            self.since_ns[stream] = outage.since_ns
        else:
            self.since_ns.setdefault(stream, outage.since_ns)


class Outage(NamedTuple):
    """How long one stream's messages did not arrive in one window."""

    longest_ns: int
    since_ns: int | None  # of one that was not over at the end; None: there is none
    delivered: bool  # whether any message was


def outage(cells: dict[int, Cell], parts: dict[int, Ints], start_ns: int, end_ns: int) -> Outage:
    """Returns the longest time in which a stream's messages were lost or refused, and none delivered.

    It sent from `start_ns` to `end_ns`, both within the window; `parts` are `classes.segments` of it.
    """
    segments = _ascending(list(parts.values()))
    tables = [cell.received.table for cell in cells.values() if len(cell.received.table)]
    bad = segments[(segments[:, 2] == LOST) | (segments[:, 2] == REFUSED), 0]
    if not len(bad):
        return Outage(0, None, bool(tables))
    if not tables:
        return Outage(end_ns - start_ns, start_ns, delivered=False)
    table = _ascending(tables)
    before = np.concatenate(([start_ns], table[:, LAST_SENT]))
    after = np.concatenate((table[:, FIRST_SENT], [end_ns]))
    edges = np.concatenate((table[:, FIRST], [np.iinfo(np.int64).max]))
    between = np.diff(np.searchsorted(bad, edges), prepend=0) > 0
    longest = max(int((after - before)[between].max()), 0)
    return Outage(longest, int(table[-1, LAST_SENT]) if between[-1] else None, delivered=True)


def _ascending(tables: list[Ints]) -> Ints:
    """Returns all rows by their first column, which is the first number of a range in all tables."""
    found = np.concatenate(tables)
    return found[np.argsort(found[:, FIRST], kind="stable")]
