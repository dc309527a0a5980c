"""Latency histograms: the layout and the encoding of HdrHistogram, computed with NumPy.

1 ns to 1 h at 3 significant digits: below 2,048 ns a bucket is 1 ns wide, above it at most 1/1,024 of its
value. Values are kept as bucket indexes and, where many, as sorted (index, count) pairs.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LOWEST_NS: Final = 1
HIGHEST_NS: Final = 3_600_000_000_000
DIGITS: Final = 3
BUCKETS: Final = 33_792  # as the hdrhistogram package counts them, for these three

Ints = NDArray[np.int64]
Indexes = NDArray[np.uint16]
Keys = NDArray[Any]  # indexes of any integer type

_MANTISSA_SHIFT: Final = 42  # of a float64: leaves the exponent and the ten highest bits of the mantissa
_OFFSET: Final = (1023 + 9) << 10
_LINEAR: Final = 1_024  # below it the index is the value

_NONE: Final[Indexes] = np.empty(0, np.uint16)

_DIGIT: Final = 7  # bits of a byte of LEB128 ...
_MORE: Final = 1 << _DIGIT  # ... and its highest: there are more
_NOTHING: Final = b"\xff"  # −1 as a byte: not among those of words of 7 bits
_FEW: Final = 64  # words that are put together one by one

_OUTER: Final = struct.Struct(">II")
_INNER: Final = struct.Struct(">IIIIQQd")
_COOKIE_OUTER: Final = 0x1C849304 | 0x10
_COOKIE_INNER: Final = 0x1C849303 | 0x10


class BadHistogram(ValueError):  # noqa: N818 -- it is the histogram that is bad
    """This text is no HdrHistogram V2 of this layout."""


def indexes(values_ns: Ints) -> Indexes:
    """Returns the bucket of each value; below 0 counts as 0, above an hour as an hour."""
    if not values_ns.size:
        return _NONE
    return wide_indexes(values_ns, int(values_ns.min()), int(values_ns.max())).astype(np.uint16)


def wide_indexes(values_ns: Ints, least: int, most: int) -> Ints:
    """Returns the same in a new array of 64 bits, to reckon with; `least` and `most` are of the values."""
    if least < 0 or most > HIGHEST_NS:
        values_ns = np.minimum(np.maximum(values_ns, 0), HIGHEST_NS)
    # The bits of a float64 are already a logarithmic layout: exponent, then the leading bits of the value.
    found: Ints = values_ns.astype(np.float64).view(np.int64)
    found >>= _MANTISSA_SHIFT
    found -= _OFFSET
    if least < _LINEAR:
        np.copyto(found, values_ns, where=values_ns < _LINEAR)
    return found


def index(value_ns: int) -> int:
    """Returns the bucket of one value."""
    value_ns = min(max(value_ns, 0), HIGHEST_NS)
    bucket = max(value_ns.bit_length() - 11, 0)
    return (bucket << 10) + (value_ns >> bucket)


def highest(index: int) -> int:
    """Returns the greatest value of a bucket: what percentiles give, as in the hdrhistogram package."""
    bucket = max((index >> 10) - 1, 0)
    return ((index - (bucket << 10) + 1) << bucket) - 1


def ranks(total: int, shares_above: Iterable[tuple[int, int]]) -> list[int]:
    """Returns for each share (over, of) the rank: total less the whole part of that share, and at least 1."""
    return [max(total - total * over // of, 1) for over, of in shares_above]


class Histogram:
    """Counts by bucket, sparse: buckets with something in them, ascending, and how much."""

    __slots__ = ("_counts", "_keys")

    def __init__(self) -> None:
        self._keys: Keys = _NONE
        self._counts: Ints = np.empty(0, np.int64)

    @classmethod
    def of_pairs(cls, keys: Keys, counts: Ints) -> Histogram:
        """Returns the histogram of such pairs, ascending by bucket."""
        found = cls()
        found._keys, found._counts = keys, counts
        return found

    def pairs(self) -> tuple[Keys, Ints]:
        return self._keys, self._counts

    def record(self, found: Indexes) -> None:
        """Count buckets, given as `indexes` gives them."""
        self._merge(found, np.ones(len(found), np.int64))

    def add(self, other: Histogram) -> None:
        """Add the counts of another."""
        self._merge(*other.pairs())

    def _merge(self, keys: Keys, counts: Ints) -> None:
        self._keys, self._counts = summed(
            np.concatenate((self._keys, keys)), np.concatenate((self._counts, counts))
        )

    @property
    def count(self) -> int:
        return int(self._counts.sum())

    def percentiles(self, shares_above: Iterable[tuple[int, int]]) -> list[int]:
        """Returns for each share (over, of) the highest value of the bucket that holds that rank.

        Raises ValueError if the histogram is empty.
        """
        if not len(self._keys):
            raise ValueError("an empty histogram has no percentiles")
        reached = self._counts.cumsum()
        places = reached.searchsorted(ranks(int(reached[-1]), shares_above))
        return [highest(each) for each in self._keys[places].tolist()]

    def encode(self) -> str:
        """Returns HdrHistogram V2, compressed, base64."""
        return as_text(squeezed(payloads(self._keys, self._counts, [0])[0]))


def payloads(keys: Keys, counts: Ints, starts: Sequence[int]) -> list[bytes]:
    """Returns several histograms, each as the payload of HdrHistogram V2.

    Histogram n is in `keys` from its start to the next one's, with n × BUCKETS added to each key. Together
    they take little longer than one.
    """
    if not len(keys):
        return [b""] * len(starts)
    # Before each count stands the number of empty buckets, negative; a single one is 0, and none is left out.
    # In zigzag: a word's lowest bit is its sign.
    before = np.empty(len(keys), np.int64)
    np.subtract(keys[1:], keys[:-1], out=before[1:])
    for number, start in enumerate(starts):
        if start < len(keys):
            before[start] = keys[start] - number * BUCKETS + 1
    before += before
    before -= 3
    before[before == 1] = 0  # and −1 is left out
    ends = [*starts[1:], len(keys)]
    words = before, counts + counts
    return [_leb128(*(each[start:end] for each in words)) for start, end in zip(starts, ends, strict=True)]


def squeezed(payload: bytes) -> bytes:
    """Returns a payload as HdrHistogram V2, compressed."""
    inner = _INNER.pack(_COOKIE_INNER, len(payload), 0, DIGITS, LOWEST_NS, HIGHEST_NS, 1.0)
    squeeze = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)  # nothing repeats: looking for it takes time
    packed = squeeze.compress(inner + payload) + squeeze.flush()
    return _OUTER.pack(_COOKIE_OUTER, len(packed)) + packed


def as_text(data: bytes) -> str:
    """Returns what `squeezed` gave as it stands in rows and `.hlog` files."""
    return base64.b64encode(data).decode("ascii")


def summed(keys: Keys, counts: Ints) -> tuple[Keys, Ints]:
    """Returns the keys, which may be in any order, each once and ascending, with the sums of their counts."""
    if not len(keys):
        return keys, counts
    order = keys.argsort(kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.empty(len(keys), np.bool_)
    starts[0] = True
    np.not_equal(keys[1:], keys[:-1], out=starts[1:])
    places = starts.nonzero()[0]
    return keys[places], np.add.reduceat(counts, places)


def decode(text: str) -> Histogram:
    """Returns the histogram in this text. Raises BadHistogram where there is none of this layout."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise BadHistogram(f"not an HdrHistogram: {error}") from None
    return of_payload(expanded(data))


def expanded(data: bytes) -> bytes:
    """Returns the payload of what `squeezed` gave. Raises BadHistogram where it is none of this layout."""
    try:
        cookie, length = _OUTER.unpack_from(data)
        if cookie & ~0xF0 != _COOKIE_OUTER & ~0xF0 or length != len(data) - _OUTER.size:
            raise BadHistogram("not a compressed HdrHistogram V2")
        expand = zlib.decompressobj()
        inner = expand.decompress(data[_OUTER.size :], _INNER.size + 9 * BUCKETS)
        cookie, length, offset, digits, least, most, _ratio = _INNER.unpack_from(inner)
    except (struct.error, zlib.error) as error:
        raise BadHistogram(f"not an HdrHistogram: {error}") from None
    if cookie & ~0xF0 != _COOKIE_INNER & ~0xF0 or length != len(inner) - _INNER.size or offset:
        raise BadHistogram("the histogram's inner header or length is wrong")
    if (digits, least, most) != (DIGITS, LOWEST_NS, HIGHEST_NS):
        raise BadHistogram(f"another layout: {least} ns to {most} ns at {digits} digits")
    return inner[_INNER.size :]


def of_payload(payload: bytes) -> Histogram:
    """Returns the histogram of a payload. Raises BadHistogram where it is of none."""
    return _from_words(_unzigzag(_read_varints(np.frombuffer(payload, np.uint8))))


def _leb128(before: Ints, counts: Ints) -> bytes:
    """Returns the words of two columns by turns, 7 bits to a byte; negative ones are left out.

    Counts stay far below the 63 bits where HdrHistogram's ninth byte would differ.
    """
    longer = [2 * place for place in (before >= _MORE).nonzero()[0].tolist()]
    longer += [2 * place + 1 for place in (counts >= _MORE).nonzero()[0].tolist()]
    if len(longer) > _FEW:
        return _long_leb128(np.column_stack((before, counts)).reshape(-1))
    # Few words are longer than a byte; they stand between slices of the others.
    lowest = np.empty((len(counts), 2), np.uint8)
    lowest[:, 0], lowest[:, 1] = before, counts
    data, done = lowest.tobytes(), 0
    parts: list[bytes] = []
    for place in sorted(longer):
        column = counts if place & 1 else before
        parts += (data[done:place].translate(None, _NOTHING), _varint(int(column[place >> 1])))
        done = place + 1
    parts.append(data[done:].translate(None, _NOTHING))
    return b"".join(parts)


def _long_leb128(words: Ints) -> bytes:
    words = words[words >= 0]
    width = -(-int(words.max()).bit_length() // _DIGIT)
    digits = words[:, None] >> np.arange(0, width * _DIGIT, _DIGIT)
    used = digits > 0
    used[:, 0] = True
    digits &= _MORE - 1
    digits[:, :-1][used[:, 1:]] |= _MORE
    return digits[used].astype(np.uint8).tobytes()


def _varint(word: int) -> bytes:
    found = bytearray()
    while word >= _MORE:
        found.append(word & (_MORE - 1) | _MORE)
        word >>= _DIGIT
    found.append(word)
    return bytes(found)


def _from_words(words: Ints) -> Histogram:
    steps = np.where(words < 0, -words, 1)
    if len(words) and (int(steps.max()) > BUCKETS or int(steps.sum()) > BUCKETS):
        raise BadHistogram(f"more than {BUCKETS} buckets")
    places = np.cumsum(steps) - 1
    used = words > 0
    return Histogram.of_pairs(places[used].astype(np.uint16), words[used])


def _unzigzag(words: Ints) -> Ints:
    return (words >> 1) ^ -(words & 1)


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
