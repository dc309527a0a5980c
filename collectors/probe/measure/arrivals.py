"""Makes records, by stream and send second, of the rows that a receiver wrote.

For each message only a row of fixed form is written; all else is computed later, for many rows at once.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import FLAG_REORDERED, MAX_ROWS, SECOND_NS, Received

# The first four fields are 32 bytes of the message's body, unchanged.
ROW: Final = np.dtype(
    [
        ("run", ">u8"),
        ("seq", ">u8"),
        ("intended_ns", ">u8"),
        ("sent_ns", ">u8"),
        ("received_ns", "<u8"),
        ("body_bytes", "<u4"),
        ("flags", "u1"),
        ("route", "u1"),
        ("generation", "<u2"),
    ]
)
FLAG_SECOND_COLOUR: Final = 4  # of a row: the colour of its link, which no record tells
_MAX_INT: Final = 1 << 62
_MAX_RANGES: Final = 4096
_SMOOTHING: Final = 15 / 16  # RFC 3550, 6.4.1
_TAIL: Final = 1024  # arrivals further back have no weight left


class Group(NamedTuple):
    """The rows of one record, and what its header says about them."""

    stream: str
    second: int
    rows: Received
    body_bytes: int
    rfc3550_ns: int
    routes: dict[str, int]


class _SeenNumbers:
    """The numbers that arrived, as ranges; the oldest are given up when there are too many."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []  # exclusive
        self._floor = -1  # numbers below it count as seen

    @property
    def highest(self) -> int:
        return self._ends[-1] - 1 if self._ends else -1

    def add_range(self, first: int, end: int) -> None:
        """Adds numbers above all that were seen."""
        if self._ends and first == self._ends[-1]:
            self._ends[-1] = end
        else:
            self._starts.append(first)
            self._ends.append(end)
            self._bound()

    def add(self, number: int) -> bool:
        """Returns whether the number is new."""
        if number < self._floor:
            return False
        index = bisect.bisect_right(self._starts, number) - 1
        if index >= 0 and number < self._ends[index]:
            return False
        joins_left = index >= 0 and self._ends[index] == number
        joins_right = index + 1 < len(self._starts) and self._starts[index + 1] == number + 1
        if joins_left and joins_right:
            self._ends[index] = self._ends.pop(index + 1)
            self._starts.pop(index + 1)
        elif joins_left:
            self._ends[index] += 1
        elif joins_right:
            self._starts[index + 1] = number
        else:
            self._starts.insert(index + 1, number)
            self._ends.insert(index + 1, number + 1)
            self._bound()
        return True

    def _bound(self) -> None:
        if len(self._starts) > _MAX_RANGES:
            half = _MAX_RANGES // 2
            self._floor = self._ends[half - 1]
            del self._starts[:half], self._ends[:half]


@dataclass(slots=True)
class _Stream:
    seen: _SeenNumbers
    last_sent_ns: int = 0
    last_received_ns: int = 0
    chained: bool = False  # there is a predecessor since the last attach
    last_colour: int = 0
    highest: list[int] = field(default_factory=lambda: [-1, -1])  # number, by colour
    rfc3550: float = 0.0
    last_active_ns: int = 0


class Arrivals:
    """Keeps what a receiver needs of each stream from one publication to the next."""

    def __init__(self, max_streams: int = 256) -> None:
        self._streams: dict[int, _Stream] = {}
        self._max_streams = max_streams

    def attached(self) -> None:
        """Call after an attach: the next arrival of each stream has no predecessor."""
        for stream in self._streams.values():
            stream.chained = False

    def groups(self, rows: NDArray[Any], routes: list[str]) -> tuple[list[Group], int]:
        """Returns the rows of each record, and how many rows were of other senders after all.

        A row's `route` is a place in `routes`, counted from 1.
        """
        sane = (rows["seq"] < _MAX_INT) & (rows["intended_ns"] < _MAX_INT) & (rows["sent_ns"] < _MAX_INT)
        bad = int(len(rows) - np.count_nonzero(sane))
        if bad:
            rows = rows[sane]
        groups: list[Group] = []
        for run in _in_order(rows["run"]):
            groups += self._stream(int(run), rows[rows["run"] == run], routes)
        return groups, bad

    def _stream(self, run: int, rows: NDArray[Any], routes: list[str]) -> Iterator[Group]:
        stream = self._streams.get(run)
        if stream is None:
            stream = self._streams[run] = _Stream(_SeenNumbers())
            self._bound()
        seq, sent, received = (rows[n].astype(np.int64) for n in ("seq", "sent_ns", "received_ns"))
        stream.last_active_ns = int(received[-1])
        colour = (rows["flags"] & FLAG_SECOND_COLOUR != 0).view(np.uint8)
        new, reordered = _new_and_reordered(stream, seq, colour)
        ipdv, has = _variation(stream, sent, received, new, colour)
        flags = rows["flags"] & ~np.uint8(FLAG_SECOND_COLOUR)
        flags[reordered] |= FLAG_REORDERED
        seconds = sent // SECOND_NS
        smoothed = _Smoothed(stream.rfc3550, ipdv, has)
        stream.rfc3550 = smoothed.after(len(rows))
        intended = rows["intended_ns"].astype(np.int64)
        for second in _in_order(seconds):
            places = np.flatnonzero(seconds == second)
            for start in range(0, len(places), MAX_ROWS):
                part = places[start : start + MAX_ROWS]
                columns = Received.of(
                    seq[part], intended[part], sent[part], received[part], ipdv[part], has[part], flags[part]
                )
                counts = np.bincount(rows["route"][part], minlength=1)
                yield Group(
                    f"{run:016x}",
                    int(second),
                    columns,
                    int(rows["body_bytes"][part].sum(dtype=np.int64)),
                    round(smoothed.after(int(part[-1]) + 1)),
                    {routes[n - 1]: int(c) for n, c in enumerate(counts) if n and c and n <= len(routes)},
                )

    def _bound(self) -> None:
        if len(self._streams) > self._max_streams:
            oldest = min(self._streams, key=lambda run: self._streams[run].last_active_ns or _MAX_INT)
            del self._streams[oldest]


def _in_order(values: NDArray[Any]) -> list[Any]:
    """Returns the different values, in order of their first appearance."""
    if not len(values) or bool((values == values[0]).all()):
        return list(values[:1])
    different, first = np.unique(values, return_index=True)
    return list(different[np.argsort(first)])


def _new_and_reordered(
    stream: _Stream, seq: NDArray[np.int64], colour: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns which numbers are new, and which of these are below the highest so far of their colour."""
    seen, highest = stream.seen, stream.highest
    new = np.ones(len(seq), np.bool_)
    reordered = np.zeros(len(seq), np.bool_)
    steps = np.diff(seq)
    if int(seq[0]) > seen.highest and bool((steps > 0).all()):  # all in order: the usual case
        breaks = np.flatnonzero(steps != 1)
        starts = np.concatenate(([0], breaks + 1))
        ends = np.append(breaks, len(seq) - 1)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            seen.add_range(int(seq[start]), int(seq[end]) + 1)
        highest[colour[-1]] = int(seq[-1])
        others = np.flatnonzero(colour != colour[-1])
        if len(others):
            highest[colour[others[-1]]] = int(seq[others[-1]])
        return new, reordered
    for place, (number, of) in enumerate(zip(seq.tolist(), colour.tolist(), strict=True)):
        if not seen.add(number):
            new[place] = False
        elif number < highest[of]:
            reordered[place] = True
        else:
            highest[of] = number
    return new, reordered


def _variation(
    stream: _Stream,
    sent: NDArray[np.int64],
    received: NDArray[np.int64],
    new: NDArray[np.bool_],
    colour: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the delay variation against the arrival before, and where it has one.

    Repeats have none, nor has what came in another colour than the arrival before: by another link.
    """
    ipdv = np.zeros(len(sent), np.int64)
    has = np.zeros(len(sent), np.bool_)
    places = np.flatnonzero(new)
    if not len(places):
        return ipdv, has
    transit, colours = received[places] - sent[places], colour[places]
    if stream.chained and stream.last_colour == colours[0]:
        ipdv[places[0]] = transit[0] - (stream.last_received_ns - stream.last_sent_ns)
        has[places[0]] = True
    same = colours[1:] == colours[:-1]
    ipdv[places[1:]] = np.where(same, np.diff(transit), 0)
    has[places[1:]] = same
    stream.chained, stream.last_colour = True, int(colours[-1])
    stream.last_sent_ns, stream.last_received_ns = int(sent[places[-1]]), int(received[places[-1]])
    return ipdv, has


class _Smoothed:
    """RFC 3550's estimate of jitter, J += (|D| − J) / 16, after any of the rows."""

    def __init__(self, before: float, ipdv: NDArray[np.int64], has: NDArray[np.bool_]) -> None:
        self._before = before
        self._sizes = np.abs(ipdv[has]).astype(np.float64)
        self._counts = np.cumsum(has)

    def after(self, rows: int) -> float:
        count = int(self._counts[rows - 1]) if rows else 0
        sizes = self._sizes[max(0, count - _TAIL) : count]
        weights = _SMOOTHING ** np.arange(len(sizes) - 1, -1, -1)
        return float(self._before * _SMOOTHING**count + (sizes * weights).sum() / 16)
