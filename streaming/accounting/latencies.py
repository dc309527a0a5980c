"""Response and service latencies and jitter of a window: exact integer sums, and histograms."""

from __future__ import annotations

import itertools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from collectors.contract.window_rows import PERCENTILES, Latency
from streaming.histogram import (
    BUCKETS,
    Histogram,
    as_text,
    expanded,
    highest,
    index,
    of_payload,
    payloads,
    ranks,
    squeezed,
    summed,
    wide_indexes,
)

Ints = NDArray[np.int64]
Keys = NDArray[np.int32]

KINDS: Final = 3
RESPONSE, SERVICE, JITTER = range(KINDS)
_STARTS: Final = [kind * BUCKETS for kind in range(KINDS + 1)]  # of each kind's keys
_CUTS: Final = np.asarray(_STARTS, np.int32)

_LOW_BITS: Final = 16
_PLAIN: Final = 1 << 62  # sums of squares below it fit into 64 bits
_SPARSE: Final = 32  # counting over a range of so many buckets takes as long as sorting a value


class Totals:
    """Count, extremes, sum and sum of squares, as Python integers: squares of ns overflow 64 bits."""

    __slots__ = ("count", "largest", "least", "squares", "total")

    def __init__(
        self, count: int = 0, least: int = 0, largest: int = 0, total: int = 0, squares: int = 0
    ) -> None:
        self.count = count
        self.least = least
        self.largest = largest
        self.total = total
        self.squares = squares

    def take(self, count: int, least: int, largest: int, total: int, squares: int) -> None:
        if self.count:
            least, largest = min(self.least, least), max(self.largest, largest)
        self.least, self.largest = least, largest
        self.count += count
        self.total += total
        self.squares += squares

    def dump(self) -> list[int]:
        return [self.count, self.least, self.largest, self.total, self.squares]


class Latencies:
    """Totals and histograms of the three kinds of times; jitter's histogram is of its absolute value.

    The histograms are kept as one, kind n with n × BUCKETS added to its keys: what takes time is the number
    of arrays.
    """

    __slots__ = ("_counts", "_keys", "_packed", "totals")

    def __init__(self) -> None:
        self.totals = [Totals() for _ in range(KINDS)]
        self._keys: Keys = np.empty(0, np.int32)
        self._counts: Ints = np.empty(0, np.int64)
        self._packed: list[bytes] = []  # response and service as `for_row` packed them, while valid

    def record(self, times_ns: Ints, first: int = 0) -> None:
        """Count times: a row for each kind from `first` on. The array is used as scratch space."""
        count = times_ns.shape[1]
        if not count:
            return
        least, largest = times_ns.min(axis=1).tolist(), times_ns.max(axis=1).tolist()
        size = max(*largest, -min(least))
        added, squares = sums(times_ns, size), _squares(times_ns, size)
        for totals, *numbers in zip(self.totals[first:], least, largest, added, squares, strict=False):
            totals.take(count, *numbers)
        last = JITTER - first
        if last < len(times_ns):
            np.abs(times_ns[last], out=times_ns[last])
            least[last], largest[last] = 0, max(largest[last], -least[last])
        found = wide_indexes(times_ns, min(least), size)
        self._count(found, first, [index(each) for each in least], [index(each) for each in largest])

    def _count(self, found: Ints, first: int, lowest: list[int], highest: list[int]) -> None:
        """Count buckets, a row for each kind, between its lowest and highest. Changes `found`."""
        self._packed = []
        keys, counts, cuts = self._keys, self._counts, self._cuts()
        low, high = [0] * KINDS, [-1] * KINDS  # of each kind, as keys
        for kind, (start, known, end) in enumerate(zip(_STARTS, cuts, cuts[1:], strict=False)):
            row = kind - first
            if 0 <= row < len(found):
                low[kind], high[kind] = start + lowest[row], start + highest[row]
            if known < end:
                least, most = int(keys[known]), int(keys[end - 1])
                low[kind] = least if high[kind] < 0 else min(low[kind], least)
                high[kind] = max(high[kind], most)
        widths = [last + 1 - begin for begin, last in zip(low, high, strict=True)]
        places = [0, *itertools.accumulate(widths)]  # where each kind's part begins in the dense array
        if places[-1] > _SPARSE * found.size:
            found += np.asarray(_STARTS[first : first + len(found)])[:, None]
            fresh = found.reshape(-1).astype(np.int32)
            both = np.concatenate((keys, fresh)), np.concatenate((counts, np.ones(len(fresh), np.int64)))
            self._keys, self._counts = summed(*both)
            return
        shifts = [begin - place for begin, place in zip(low, places, strict=False)]
        rows = range(first, first + len(found))
        found += np.asarray([[_STARTS[kind] - shifts[kind]] for kind in rows])
        dense = np.bincount(found.reshape(-1), minlength=places[-1])
        for shift, known, end in zip(shifts, cuts, cuts[1:], strict=False):
            if known < end:
                dense[keys[known:end] - shift] += counts[known:end]
        used = (dense != 0).nonzero()[0]  # of booleans it finds them three times as fast
        self._keys, self._counts = used.astype(np.int32), dense[used]
        cuts = used.searchsorted(places).tolist()
        for shift, begin, end in zip(shifts, cuts, cuts[1:], strict=False):
            self._keys[begin:end] += shift

    def _cuts(self) -> list[int]:
        """Returns where each kind's keys begin, and where the last one's end."""
        cuts: list[int] = self._keys.searchsorted(_CUTS).tolist()
        return cuts

    def histogram(self, kind: int) -> Histogram:
        begin, end = self._cuts()[kind : kind + 2]
        return Histogram.of_pairs(self._keys[begin:end] - np.int32(_STARTS[kind]), self._counts[begin:end])

    def for_row(self) -> tuple[Latency | None, Latency | None, dict[str, int]]:
        """Returns response and service as a row has them, or None; and the percentiles of jitter."""
        *starts, end, _ = self._cuts()
        found = payloads(self._keys[:end], self._counts[:end], starts)
        self._packed = [squeezed(each) for each in found]
        response, service, jitter = self._percentiles()
        hdr_of_response, hdr_of_service = self._packed
        return (
            self._latency(RESPONSE, response, hdr_of_response),
            self._latency(SERVICE, service, hdr_of_service),
            jitter,
        )

    def _percentiles(self) -> list[dict[str, int]]:
        """Returns the percentiles of each kind: the upper end of a bucket, but at most the largest value."""
        names, wanted, before = [], [], 0
        for kind, totals in enumerate(self.totals):
            given = given_percentiles(totals.count)
            names += [(kind, name) for name in given]
            wanted += [before + rank for rank in ranks(totals.count, given.values())]
            before += totals.count
        found: list[dict[str, int]] = [{} for _ in self.totals]
        if wanted:
            keys = self._keys[self._counts.cumsum().searchsorted(wanted)].tolist()
            jitter = self.totals[JITTER]
            most = [max(totals.largest, 0) for totals in self.totals]
            most[JITTER] = max(abs(jitter.least), abs(jitter.largest))
            for (kind, name), key in zip(names, keys, strict=True):
                found[kind][name] = min(highest(key - _STARTS[kind]), most[kind])
        return found

    def _latency(self, kind: int, percentiles: dict[str, int], hdr: bytes) -> Latency | None:
        totals = self.totals[kind]
        count, total = totals.count, totals.total
        if not count:
            return None
        # n × Σx² − (Σx)² over n² is the variance, exactly; the root is rounded down.
        deviation = math.isqrt(count * totals.squares - total * total) // count
        return {
            "count": count,
            "min_ns": totals.least,
            "max_ns": totals.largest,
            "mean_ns": rounded(total, count),
            "std_ns": deviation,
            "percentiles": percentiles,
            "hdr": as_text(hdr),
        }

    def dump(self) -> tuple[list[list[int]], list[bytes], Keys, Ints]:
        """Returns totals; the histograms that a row has, packed as there; keys and counts of the others."""
        begin = self._cuts()[len(self._packed)]
        totals = [each.dump() for each in self.totals]
        return totals, self._packed, self._keys[begin:], self._counts[begin:]

    @classmethod
    def load(cls, totals: list[list[int]], packed: list[bytes], keys: Keys, counts: Ints) -> Latencies:
        found = cls()
        found.totals = [Totals(*each) for each in totals]
        found._packed = packed
        pairs = [of_payload(expanded(each)).pairs() for each in packed]
        own = [each.astype(np.int32) + start for (each, _), start in zip(pairs, _STARTS, strict=False)]
        found._keys = np.concatenate([*own, keys])
        found._counts = np.concatenate([*(each for _, each in pairs), counts])
        return found


def given_percentiles(count: int) -> dict[str, tuple[int, int]]:
    """Returns those percentiles of so many values that have a value above them, with the share above each."""
    return {name: share for name, share in PERCENTILES.items() if count * share[0] >= share[1]}


def rounded(total: int, count: int) -> int:
    """Returns the whole number nearest to the mean, halves rounded up, for either sign."""
    return (2 * total + count) // (2 * count)


def sums(rows: Ints, size: int) -> list[int]:
    """Returns the exact sum of each row; `size` is the largest absolute value."""
    if size * rows.shape[1] < _PLAIN:
        found: list[int] = rows.sum(axis=1).tolist()
        return found
    return [sum(row.tolist()) for row in rows]


def _squares(rows: Ints, size: int) -> list[int]:
    """Returns the exact sum of squares of each row."""
    if size * size * rows.shape[1] < _PLAIN:
        return _products(rows, rows)
    if (size >> _LOW_BITS) ** 2 * rows.shape[1] >= _PLAIN:
        return [sum(value * value for value in row.tolist()) for row in rows]  # days: no honest latency
    high, low = rows >> _LOW_BITS, rows & ((1 << _LOW_BITS) - 1)
    products = zip(_products(high, high), _products(high, low), _products(low, low), strict=True)
    return [(hh << (2 * _LOW_BITS)) + (hl << (_LOW_BITS + 1)) + ll for hh, hl, ll in products]


def _products(some: Ints, others: Ints) -> list[int]:
    found: list[int] = np.einsum("ij,ij->i", some, others).tolist()
    return found
