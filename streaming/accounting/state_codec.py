"""Kept state as bytes: a little JSON, then NumPy arrays as they are in memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streaming.accounting.latencies import Latencies
from streaming.accounting.number_ranges import NumberRanges
from streaming.accounting.window import Cell, SecondLedger, Window

VERSION: Final = 8
_HEAD: Final = struct.Struct("<2sBxI")
_MAGIC: Final = b"IF"
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
_WAY_OUT: Final = "begin a new checkpoint, which is rebuilt from Kafka"
_LARGE: Final = 255  # in a byte: the number itself stands among the large ones


class BadState(ValueError):  # noqa: N818 -- it is the state that is bad
    """Kept state that this version cannot go on with."""


class _Arrays:
    """Arrays one after the other; their lengths are kept in the JSON."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def put(self, array: NDArray[Any], kind: str) -> int:
        self.parts.append(array.astype(kind, copy=False).tobytes())
        return len(array)

    def put_small(self, array: NDArray[Any]) -> int:
        """Put numbers of which most fit into a byte; returns how many do not."""
        small = np.minimum(array, _LARGE).astype(np.uint8)
        self.put(small, "u1")
        return self.put(array[small == _LARGE], "<i8")

    def put_bytes(self, data: bytes) -> int:
        self.parts.append(data)
        return len(data)


class _Reader:
    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def get(self, count: int, kind: str, width: int = 1) -> NDArray[Any]:
        found = np.frombuffer(self.data, kind, count * width, self.place)
        self.place += found.nbytes
        return found if width == 1 else found.reshape(count, width)

    def get_small(self, count: int, large: int) -> NDArray[np.int64]:
        found = self.get(count, "u1").astype(np.int64)
        found[found == _LARGE] = self.get(large, "<i8")
        return found

    def get_bytes(self, count: int) -> bytes:
        self.place += count
        return self.data[self.place - count : self.place]


@contextmanager
def undamaged(what: str) -> Iterator[None]:
    """Raises BadState for whatever is raised within: bytes may be damaged anywhere."""
    try:
        yield
    except BadState:
        raise
    except Exception as error:
        raise BadState(f"{what} is damaged ({type(error).__name__}: {error}): {_WAY_OUT}") from error


def pack(meta: Any, arrays: bytes = b"") -> bytes:
    text = _ENCODER.encode(meta).encode()
    return _HEAD.pack(_MAGIC, VERSION, len(text)) + text + arrays


def unpack(data: bytes) -> tuple[Any, int]:
    """Returns what was packed, and where its arrays begin. Raises BadState if this version cannot read it."""
    try:
        magic, version, length = _HEAD.unpack_from(data)
    except struct.error:
        raise BadState(f"the kept state is cut off: {_WAY_OUT}") from None
    if magic != _MAGIC:
        raise BadState(f"the kept state is not of this program: {_WAY_OUT}")
    if version != VERSION:
        raise BadState(
            f"the kept state has version {version}, this program knows {VERSION}: go on with the program "
            f"that wrote it, or {_WAY_OUT}"
        )
    end = _HEAD.size + length
    if end > len(data):
        raise BadState(f"the kept state is cut off: {_WAY_OUT}")
    try:
        return json.loads(data[_HEAD.size : end]), end
    except ValueError as error:
        raise BadState(f"the kept state is damaged ({error}): {_WAY_OUT}") from None


def dump_window(window: Window) -> bytes:
    arrays = _Arrays()
    samples = window.samples
    samples.flush()
    latencies = _dump_latencies(arrays, samples.latencies)
    cells = {
        stream: [[second, *_dump_cell(arrays, cell)] for second, cell in of_stream.items()]
        for stream, of_stream in window.cells.items()
    }
    origin = None
    if window.origin is not None:
        origin = {
            stream: [[second, arrays.put(part.reshape(-1), "<i8")] for second, part in parts.items()]
            for stream, parts in window.origin.items()
        }
    meta = [
        window.start_ns,
        [latencies, samples.negative, samples.last_received_ns, samples.slowest],
        cells,
        *(window.counts, window.rfc3550_ns, window.routes, window.clock),
        *(sorted(window.flags), window.revision, window.blind_ns),
        *(window.outage_since_ns, origin, window.digest),
    ]
    return pack(meta, b"".join(arrays.parts))


def load_window(data: bytes) -> Window:
    """Raises BadState where the bytes are damaged or of another version."""
    with undamaged("a kept window"):
        return _load_window(data)


def _load_window(data: bytes) -> Window:
    meta, place = unpack(data)
    reader = _Reader(data, place)
    start_ns, measured, cells, *rest = meta
    window = Window(start_ns)
    samples = window.samples
    latencies, samples.negative, samples.last_received_ns, slowest = measured
    samples.latencies = _load_latencies(reader, *latencies)
    samples.slowest = None if slowest is None else tuple(slowest)
    for stream, items in cells.items():
        window.cells[stream] = {second: _load_cell(reader, *item) for second, *item in items}
    counts, window.rfc3550_ns, routes, clock, flags, *rest = rest
    window.counts.update(counts)
    window.routes.update(routes)
    window.clock = None if clock is None else tuple(clock)
    window.flags.update(flags)
    window.revision, window.blind_ns, *rest = rest
    window.outage_since_ns, origin, window.digest = rest
    if origin is not None:
        window.origin = {
            stream: {second: reader.get(count // 3, "<i8", 3) for second, count in parts}
            for stream, parts in origin.items()
        }
    return window


def _dump_latencies(arrays: _Arrays, latencies: Latencies) -> list[Any]:
    totals, packed, keys, counts = latencies.dump()
    steps = keys.copy()
    steps[1:] -= keys[:-1]
    lengths = [arrays.put_bytes(each) for each in packed]
    return [totals, lengths, len(keys), arrays.put_small(steps), arrays.put_small(counts)]


def _load_latencies(
    reader: _Reader, totals: Any, lengths: list[int], buckets: int, far: int, many: int
) -> Latencies:
    packed = [reader.get_bytes(each) for each in lengths]
    keys = reader.get_small(buckets, far).cumsum().astype(np.int32)
    return Latencies.load(totals, packed, keys, reader.get_small(buckets, many))


def _dump_cell(arrays: _Arrays, cell: Cell) -> list[Any]:
    table, ledger = cell.received.table, cell.ledger
    arrays.put(table.reshape(-1), "<i8")
    if ledger is None:
        return [len(table), None]
    arrays.put(ledger.first, "<i8")
    arrays.put(ledger.length, "<i8")
    count = arrays.put(ledger.outcome, "u1")
    return [len(table), [ledger.revision, count, ledger.due, ledger.unsent, ledger.body_bytes]]


def _load_cell(reader: _Reader, ranges: int, raw: list[Any] | None) -> Cell:
    cell = Cell(NumberRanges(reader.get(ranges, "<i8", 4)))
    if raw is not None:
        revision, count, due, unsent, body_bytes = raw
        first, length = reader.get(count, "<i8"), reader.get(count, "<i8")
        outcome = reader.get(count, "u1")
        cell.ledger = SecondLedger(revision, first, length, outcome, due, unsent, body_bytes)
    return cell
