"""Latency histograms: the layout and the encoding of HdrHistogram, computed with NumPy.

1 ns to 1 h at 3 significant digits: below 2,048 ns a bucket is 1 ns wide, above it at most 1/1,024 of its
value. Values are kept as bucket indexes and, where many, as sorted (index, count) pairs.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LOWEST_NS: Final = 1
HIGHEST_NS: Final = 3_600_000_000_000
DIGITS: Final = 3
BUCKETS: Final = 33_792  # as the hdrhistogram package counts them, for these three

Ints = NDArray[np.int64]
Indexes = NDArray[np.uint16]

_MANTISSA_SHIFT: Final = 42  # of a float64: leaves the exponent and the ten highest bits of the mantissa
_OFFSET: Final = (1023 + 9) << 10
_LINEAR: Final = 1_024  # below it the index is the value
_COMPACT_AT: Final = 4_096  # indexes kept as they came, before they are counted

_NONE: Final[Indexes] = np.empty(0, np.uint16)
_FEW: Final = 512  # buckets that are sorted rather than counted over their whole range

_DIGIT: Final = 7  # bits of a byte of LEB128

_OUTER: Final = struct.Struct(">II")
_INNER: Final = struct.Struct(">IIIIQQd")
_COOKIE_OUTER: Final = 0x1C849304 | 0x10
_COOKIE_INNER: Final = 0x1C849303 | 0x10


class BadHistogram(ValueError):  # noqa: N818 -- it is the histogram that is bad
    """This text is no HdrHistogram V2 of this layout."""


def indexes(values_ns: Ints, extremes_ns: tuple[int, int] | None = None) -> Indexes:
    """The bucket of each value; below 0 counts as 0, above an hour as an hour. Give extremes where known."""
    if not values_ns.size:
        return _NONE
    least, most = extremes_ns or (int(values_ns.min()), int(values_ns.max()))
    if least < 0 or most > HIGHEST_NS:
        values_ns = np.minimum(np.maximum(values_ns, 0), HIGHEST_NS)
    # The bits of a float64 are already a logarithmic layout: exponent, then the leading bits of the value.
    found = values_ns.astype(np.float64).view(np.int64)
    found >>= _MANTISSA_SHIFT
    found -= _OFFSET
    if least < _LINEAR:
        np.copyto(found, values_ns, where=values_ns < _LINEAR)
    return found.astype(np.uint16)


def highest(index: int) -> int:
    """The greatest value of a bucket: what percentiles give, as in the hdrhistogram package."""
    bucket = max((index >> 10) - 1, 0)
    return ((index - (bucket << 10) + 1) << bucket) - 1


class Histogram:
    """Counts by bucket, sparse."""

    __slots__ = ("_counts", "_keys", "_pending", "_pending_count")

    def __init__(self) -> None:
        self._keys: Indexes = _NONE
        self._counts: Ints = np.empty(0, np.int64)
        self._pending: list[Indexes] = []
        self._pending_count = 0

    def record(self, found: Indexes) -> None:
        """Count buckets, given as `indexes` gives them; the array must not change afterwards."""
        self._pending.append(found)
        self._pending_count += len(found)
        if self._pending_count >= _COMPACT_AT:
            self._compact()

    def add(self, other: Histogram) -> None:
        """Count what the other has counted."""
        keys, counts = other.pairs()
        self._compact()
        self._merge(keys, counts)

    def pairs(self) -> tuple[Indexes, Ints]:
        """Buckets with something in them, ascending, and how much."""
        self._compact()
        return self._keys, self._counts

    def pending(self) -> Indexes:
        """The buckets of what was not counted into pairs yet, in order."""
        if len(self._pending) > 1:
            self._pending = [np.concatenate(self._pending)]
        return self._pending[0] if self._pending else _NONE

    def parts(self) -> tuple[Indexes, Ints, Indexes]:
        """Pairs as they are, and what is pending beside them: for who has no time to count."""
        return self._keys, self._counts, self.pending()

    @classmethod
    def of_pairs(cls, keys: Indexes, counts: Ints, pending: Indexes | None = None) -> Histogram:
        """Of pairs in ascending order of buckets."""
        found = cls()
        found._keys, found._counts = keys, counts
        if pending is not None and len(pending):
            found.record(pending)
        return found

    @property
    def count(self) -> int:
        return int(self._counts.sum()) + self._pending_count

    def percentiles(self, shares_above: Sequence[tuple[int, int]]) -> list[int]:
        """For each share (over, of): the value which that share of the counted values is above.

        The rank is exact (count minus the whole part of count × over / of); the value is its bucket's
        highest.
        """
        keys, counts = self.pairs()
        if not len(keys):
            raise ValueError("an empty histogram has no percentiles")
        reached = counts.cumsum()
        total = int(reached[-1])
        ranks = [max(total - total * over // of, 1) for over, of in shares_above]
        return [highest(index) for index in keys[reached.searchsorted(ranks)].tolist()]

    def at_most(self, bound_ns: int) -> int:
        """How many values are in buckets up to the bound's own."""
        keys, counts = self.pairs()
        last = int(indexes(np.asarray([bound_ns], np.int64))[0])
        return int(counts[: int(np.searchsorted(keys, last, "right"))].sum())

    def encode(self) -> str:
        """HdrHistogram V2, compressed, base64."""
        return encode_all([self])[0]

    def _compact(self) -> None:
        if not self._pending:
            return
        fresh, self._pending, self._pending_count = self.pending(), [], 0
        if not len(fresh):
            return
        if len(fresh) + len(self._keys) <= _FEW:
            self._merge(*_summed(fresh, np.ones(len(fresh), np.int64)))
            return
        base, top = int(fresh.min()), int(fresh.max())
        if len(self._keys):
            base, top = min(base, int(self._keys[0])), max(top, int(self._keys[-1]))
        self._take_dense(np.bincount(fresh - np.uint16(base), minlength=top + 1 - base), base)

    def _merge(self, keys: Indexes, counts: Ints) -> None:
        if not len(self._keys):
            self._keys, self._counts = keys, counts
            return
        if not len(keys):
            return
        if len(keys) + len(self._keys) <= _FEW:
            both = np.concatenate((self._keys, keys)), np.concatenate((self._counts, counts))
            self._keys, self._counts = _summed(*both)
            return
        base = min(int(keys[0]), int(self._keys[0]))
        dense = np.zeros(max(int(keys[-1]), int(self._keys[-1])) + 1 - base, np.int64)
        dense[keys - np.uint16(base)] = counts
        self._take_dense(dense, base)

    def _take_dense(self, dense: Ints, base: int) -> None:
        """Counts of all buckets from `base` on, wide enough for the own ones, which are added."""
        if len(self._keys):
            dense[self._keys - np.uint16(base)] += self._counts
        used = np.flatnonzero(dense)
        self._keys, self._counts = (used + base).astype(np.uint16), dense[used]


def encode_all(histograms: Sequence[Histogram]) -> list[str]:
    """Each of them encoded; together they take little longer than one."""
    pairs = [each.pairs() for each in histograms]
    payload, ends = _payload(pairs)
    return [_squeezed(payload[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _squeezed(payload: bytes) -> str:
    inner = _INNER.pack(_COOKIE_INNER, len(payload), 0, DIGITS, LOWEST_NS, HIGHEST_NS, 1.0)
    squeeze = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)  # nothing repeats: looking for it takes time
    squeezed = squeeze.compress(inner + payload) + squeeze.flush()
    return base64.b64encode(_OUTER.pack(_COOKIE_OUTER, len(squeezed)) + squeezed).decode("ascii")


def _summed(keys: Indexes, counts: Ints) -> tuple[Indexes, Ints]:
    """Keys in any order, each once and ascending, with the sums of their counts."""
    order = keys.argsort(kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.empty(len(keys), np.bool_)
    starts[0] = True
    np.not_equal(keys[1:], keys[:-1], out=starts[1:])
    places = starts.nonzero()[0]
    return keys[places], np.add.reduceat(counts, places)


def decode(text: str) -> Histogram:
    """The histogram in this text; BadHistogram where there is none of this layout."""
    try:
        data = base64.b64decode(text, validate=True)
        cookie, length = _OUTER.unpack_from(data)
        if cookie & ~0xF0 != _COOKIE_OUTER & ~0xF0 or length != len(data) - _OUTER.size:
            raise BadHistogram("not a compressed HdrHistogram V2")
        expand = zlib.decompressobj()
        inner = expand.decompress(data[_OUTER.size :], _INNER.size + 9 * BUCKETS)
        cookie, length, offset, digits, least, most, _ratio = _INNER.unpack_from(inner)
    except BadHistogram:
        raise
    except (ValueError, struct.error, zlib.error) as error:
        raise BadHistogram(f"not an HdrHistogram: {error}") from None
    if cookie & ~0xF0 != _COOKIE_INNER & ~0xF0 or length != len(inner) - _INNER.size or offset:
        raise BadHistogram("the histogram's inner header or length is wrong")
    if (digits, least, most) != (DIGITS, LOWEST_NS, HIGHEST_NS):
        raise BadHistogram(f"another layout: {least} ns to {most} ns at {digits} digits")
    return _from_words(_unzigzag(_read_varints(np.frombuffer(inner, np.uint8, offset=_INNER.size))))


def _payload(pairs: Sequence[tuple[Indexes, Ints]]) -> tuple[bytes, list[int]]:
    """The payloads of several histograms in one, and where each ends."""
    lengths = [len(keys) for keys, _ in pairs]
    if not any(lengths):
        return b"", [0] * len(pairs)
    keys, counts = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    starts = [sum(lengths[:place]) for place, length in enumerate(lengths) if length]
    words, words_to = _words(keys, counts, starts)
    digits, sizes = _digits(words)
    bytes_to = sizes.cumsum()
    last = [sum(lengths[: place + 1]) - 1 for place in range(len(lengths))]
    return digits.tobytes(), [int(bytes_to[words_to[place] - 1]) if place >= 0 else 0 for place in last]


def _words(keys: Indexes, counts: Ints, starts: list[int]) -> tuple[Ints, Ints]:
    """The counts in order, with each run of zeros before one as a negative number, or 0 for a single one.

    In zigzag: a word's lowest bit is its sign. Histograms begin at `starts`; the words of each key end where
    the second array says.
    """
    zeros = keys.astype(np.int64)
    zeros[1:] -= keys[:-1]
    zeros[1:] -= 1
    zeros[starts] = keys[starts]
    before = zeros.nonzero()[0]
    sizes = np.ones(len(keys), np.int64)
    sizes[before] = 2
    ends = sizes.cumsum()
    words = np.empty(int(ends[-1]), np.int64)
    words[ends - 1] = counts << 1
    runs = (zeros[before] << 1) - 1
    runs[runs == 1] = 0
    words[ends[before] - 2] = runs
    return words, ends


def _from_words(words: Ints) -> Histogram:
    steps = np.where(words < 0, -words, 1)
    if len(words) and (int(steps.max()) > BUCKETS or int(steps.sum()) > BUCKETS):
        raise BadHistogram(f"more than {BUCKETS} buckets")
    places = np.cumsum(steps) - 1
    used = words > 0
    return Histogram.of_pairs(places[used].astype(np.uint16), words[used])


def _unzigzag(words: Ints) -> Ints:
    return (words >> 1) ^ -(words & 1)


def _digits(words: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """LEB128 of all, and how many bytes each takes.

    Counts stay far below the 63 bits where HdrHistogram's ninth byte would differ.
    """
    lowest, sizes = words.astype(np.uint8), np.ones(len(words), np.int64)
    longer = (words >> _DIGIT).nonzero()[0]
    if not len(longer):
        return lowest, sizes
    # Few are longer than a byte: what they have beyond it is put between the others.
    lowest[longer] |= 1 << _DIGIT
    further, of_each = _digits(words[longer] >> _DIGIT)
    sizes[longer] += of_each
    places = np.repeat(longer + 1, of_each) + np.arange(len(further))
    is_lowest = np.ones(len(words) + len(further), np.bool_)
    is_lowest[places] = False
    found = np.empty(len(is_lowest), np.uint8)
    found[is_lowest], found[places] = lowest, further
    return found, sizes


def _read_varints(data: NDArray[np.uint8]) -> Ints:
    if not len(data):
        return np.empty(0, np.int64)
    last = np.flatnonzero(data < 0x80)  # noqa: PLR2004 -- the continuation bit
    if not len(last) or int(last[-1]) != len(data) - 1:
        raise BadHistogram("a number is cut off")
    starts = np.concatenate(([0], last[:-1] + 1))
    place = np.arange(len(data)) - np.repeat(starts, last - starts + 1)
    if int(place.max()) > 8:  # noqa: PLR2004 -- 9 bytes hold 63 bits
        raise BadHistogram("a number is too long")
    parts = (data & 0x7F).astype(np.int64) << (7 * place)
    return np.add.reduceat(parts, starts)
