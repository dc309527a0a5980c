"""Arrow IPC streams of one uncompressed batch, found in place: a tenth of what a reader of any stream costs.

pyarrow reads each form of stream once; streams that differ from it only in the text of their metadata and
in their numbers are then read here. What is other than expected is None: pyarrow is asked again.
"""

from __future__ import annotations

import struct
from operator import add, itemgetter
from typing import Any, Final, NamedTuple

_CONTINUES: Final = b"\xff\xff\xff\xff"
_END: Final = b"\xff\xff\xff\xff\0\0\0\0"
_VERSION: Final = b"\x04\0"  # V5, as pyarrow writes it
_RECORD_BATCH: Final = 3  # the type of a message
_WORD: Final = struct.Struct("<I")
_SIGNED: Final = struct.Struct("<i")
_SHORT: Final = struct.Struct("<H")
_FORMS: Final = 16_384  # of about 1 kB: of each run some, of lengths and widths


class Frame(NamedTuple):
    """A stream's first message around the text in its metadata."""

    text: bytes
    form: tuple[int, bytes, bytes]  # equal forms are of one schema
    end: int


class Batch(NamedTuple):
    """Where the columns' values are."""

    rows: int
    nulls: tuple[int, ...]  # by column
    body: int  # where it begins in the data
    buffers: tuple[int, ...]  # validity and values of each column: offset in the body, and length


class Forms:
    """What was learned: the schemas that pyarrow found, by form, and how their batches are laid out."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes, bytes], Any] = {}
        self._layouts: dict[int, _Layout] = {}  # by number of columns

    def get(self, frame: Frame) -> Any:
        return self._known.get(frame.form)

    def put(self, frame: Frame, schema: Any) -> None:
        if len(self._known) >= _FORMS:
            self._known.clear()
        self._known[frame.form] = schema

    def batch(self, data: bytes, start: int, columns: int) -> Batch | None:
        """The batch of so many flat columns that a stream's second message is, if nothing follows it."""
        try:
            layout = self._layouts.get(columns)
            numbers = None if layout is None else layout.numbers(data, start)
            if layout is None or numbers is None:
                layout = _layout(data, start, columns)
                if layout is None:
                    return None
                self._layouts[columns] = layout
                numbers = layout.numbers(data, start)
            return None if numbers is None else layout.batch(data, start, numbers)
        except (struct.error, IndexError):
            return None


class _Layout:
    """The message before a batch: what is the same in all of one schema, and the numbers in between."""

    def __init__(self, data: bytes, start: int, end: int, numbers: dict[str, tuple[int, int]]) -> None:
        """`numbers`: where each kind of them begins in the data, and how many 64-bit numbers it has."""
        form, place, index = "<", start, 0
        fixed: list[int] = []
        of: dict[str, slice] = {}
        for name, (offset, count) in sorted(numbers.items(), key=lambda item: item[1]):
            form += f"{offset - place}s{count}q"
            fixed.append(index)
            of[name] = slice(index + 1, index + 1 + count)
            place, index = offset + 8 * count, index + 1 + count
        self._reader = struct.Struct(f"{form}{end - place}s")
        self._fixed_of = itemgetter(*fixed, index)
        self._fixed = self._fixed_of(self._reader.unpack_from(data, start))
        self._slices = of["size"], of["rows"], of["nodes"], of["buffers"]

    def numbers(self, data: bytes, start: int) -> tuple[Any, ...] | None:
        """None: this message is another."""
        found = self._reader.unpack_from(data, start)
        return found if self._fixed_of(found) == self._fixed else None

    def batch(self, data: bytes, start: int, numbers: tuple[Any, ...]) -> Batch | None:
        """None where these numbers cannot be."""
        (size,), (rows,), nodes, buffers = (numbers[each] for each in self._slices)
        body, nulls = start + self._reader.size, nodes[1::2]
        if size < 0 or not ends(data, body + size) or nodes[::2] != (rows,) * len(nulls):
            return None
        if min(nulls) < 0 or max(nulls) > rows or min(buffers) < 0:
            return None
        if max(map(add, buffers[::2], buffers[1::2])) > size:
            return None
        return Batch(rows, nulls, body, buffers)


def frame(data: bytes, begins: bytes) -> Frame | None:
    """The first message, if it has a text that begins so."""
    if data[:4] != _CONTINUES or len(data) < 2 * _WORD.size:
        return None
    end = 2 * _WORD.size + _WORD.unpack_from(data, 4)[0]
    place = data.find(begins, 0, end)
    if place < 0:
        return None
    length = _WORD.unpack_from(data, place - _WORD.size)[0]
    after = place + length
    if after > end or end > len(data):
        return None
    return Frame(data[place:after], (length, data[:place], data[after:end]), end)


def ends(data: bytes, start: int) -> bool:
    """Whether the stream is over there."""
    return data[start:] == _END


def _layout(data: bytes, start: int, columns: int) -> _Layout | None:
    end = start + 2 * _WORD.size + _WORD.unpack_from(data, start + _WORD.size)[0]
    message = _root(data, start + 2 * _WORD.size)
    version, kind, header, size = (_field(data, message, number) for number in range(4))
    if data[start : start + 4] != _CONTINUES or not version or not kind or not header or not size:
        return None
    if data[version : version + 2] != _VERSION or data[kind] != _RECORD_BATCH:
        return None
    table = _root(data, header)
    rows, nodes, buffers, compression = (_field(data, table, number) for number in range(4))
    if compression or not rows or not nodes or not buffers:
        return None
    return _Layout(
        data,
        start,
        end,
        {
            "size": (size, 1),
            "rows": (rows, 1),
            "nodes": (_pairs(data, nodes, columns), 2 * columns),
            "buffers": (_pairs(data, buffers, 2 * columns), 4 * columns),
        },
    )


def _root(data: bytes, place: int) -> int:
    return place + int(_WORD.unpack_from(data, place)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where a table's field is; 0: it is not there."""
    layout = table - _SIGNED.unpack_from(data, table)[0]
    place = 4 + 2 * number
    if place >= _SHORT.unpack_from(data, layout)[0]:
        return 0
    offset = _SHORT.unpack_from(data, layout + place)[0]
    return table + offset if offset else 0


def _pairs(data: bytes, field: int, count: int) -> int:
    """Where so many pairs of 64-bit numbers are; struct.error where it is another number of them."""
    place = _root(data, field)
    if _WORD.unpack_from(data, place)[0] != count:
        raise struct.error
    return place + _WORD.size
