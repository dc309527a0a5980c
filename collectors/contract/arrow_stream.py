"""Reads Arrow IPC streams of one uncompressed batch in place: a small record in a quarter of the time.

pyarrow reads each form of stream, and each message before a batch, once. Streams that differ from these
only in the text of their metadata and in their numbers are then read here. For all others these functions
return None, and pyarrow reads them. So the result does not depend on which streams were read before.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

_CONTINUES: Final = b"\xff\xff\xff\xff"
_END: Final = b"\xff\xff\xff\xff\0\0\0\0"
_VERSION: Final = b"\x04\0"  # V5, as pyarrow writes it
_SCHEMA: Final = 1  # types of messages
_RECORD_BATCH: Final = 3
_COMPRESSION: Final = 3  # a batch's field
_WORD: Final = struct.Struct("<I")
_SIGNED: Final = struct.Struct("<i")
_SHORT: Final = struct.Struct("<H")
_LONG: Final = struct.Struct("<q")
_LONGEST: Final = 8_192  # bytes of what is learned; a message is about 1 kB
_ROOM: Final = 64 << 20  # bytes of all of it: of each run some forms, and of numbers of rows and widths


class _Other(Exception):  # noqa: N818 -- not an error
    """A message has another form than the one expected."""


class Frame(NamedTuple):
    """A stream's first message, and the text in its metadata."""

    text: bytes
    form: tuple[int, bytes, bytes]  # equal forms are of one schema
    end: int


class Bits(NamedTuple):
    """A column in which values are missing."""

    column: int
    missing: int
    begin: int  # in the body
    length: int


class Batch(NamedTuple):
    """Where the columns' values are, by the message before them."""

    rows: int
    message: int  # its own length: then comes the body
    body: int  # its length
    values: tuple[int, ...]  # by column: where they begin in the body
    bits: tuple[Bits, ...]


class Forms:
    """What was learned: the schemas that pyarrow found, by form, and the places of values by message."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes, bytes], Any] = {}
        self._batches: dict[bytes, Batch] = {}
        self._bytes = 0

    def get(self, frame: Frame) -> Any:
        return self._known.get(frame.form)

    def put(self, frame: Frame, schema: Any) -> None:
        """Remember what pyarrow found in a stream."""
        if frame.end <= _LONGEST:
            self._make_room(frame.end)
            self._known[frame.form] = schema

    def batch(self, data: bytes, start: int, widths: bytes) -> Batch | None:
        """Return the batch that begins there, if its message is known and nothing follows it.

        Most messages are known: they hold lengths and places, and no times.
        """
        found = self._batches.get(widths + _message(data, start))
        return found if found is not None and ends(data, start + found.message + found.body) else None

    def put_batch(self, data: bytes, start: int, widths: bytes, batch: Batch) -> None:
        """Remember what `batch_in` found in a stream that pyarrow read."""
        if batch.message <= _LONGEST:
            self._make_room(batch.message)
            self._batches[widths + _message(data, start)] = batch

    def _make_room(self, size: int) -> None:
        self._bytes += size
        if self._bytes > _ROOM:
            self._known.clear()
            self._batches.clear()
            self._bytes = size


def frame(data: bytes, begins: bytes) -> Frame | None:
    """Return the first message, if it has a text that begins so."""
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
    """Return whether the stream ends there."""
    return data[start:] == _END


def is_plain(data: bytes) -> bool:
    """Return whether it is a schema of little-endian numbers and uncompressed batches.

    What is compressed may be a thousand times longer than its bytes.
    """
    place = 0
    try:
        while place < len(data):
            message = _message(data, place)
            if len(message) == 2 * _WORD.size:
                break  # the end, as it may be written
            root = _root(message, 2 * _WORD.size)
            kind, header, size_at = (_field(message, root, number) for number in range(1, 4))
            table = _root(message, header)
            if message[:4] != _CONTINUES or message[kind] not in {_SCHEMA, _RECORD_BATCH}:
                return False
            if _field(message, table, 0 if message[kind] == _SCHEMA else _COMPRESSION):
                return False  # a schema's first field is there where it is big-endian
            body = _LONG.unpack_from(message, size_at)[0] if size_at else 0
            if body < 0:
                return False
            place += len(message) + body
    except (struct.error, IndexError):
        return False
    return True


def batch_in(data: bytes, start: int, widths: bytes) -> Batch | None:
    """Return the batch that begins there, if it has the expected form and nothing follows it."""
    try:
        found = _batch(_message(data, start), widths)
    except (struct.error, IndexError, _Other):
        return None
    return found if ends(data, start + found.message + found.body) else None


def _message(data: bytes, start: int) -> bytes:
    """Return the message without its body; fewer bytes if the data end before."""
    length = data[start + _WORD.size : start + 2 * _WORD.size]
    return data[start : start + 2 * _WORD.size + int.from_bytes(length, "little")]


def _batch(message: bytes, widths: bytes) -> Batch:
    """Read a batch's message; raises _Other if it has another form, or impossible numbers."""
    rows_at, nodes_at, buffers_at, size_at = _places(message)
    rows, body = _LONG.unpack_from(message, rows_at)[0], _LONG.unpack_from(message, size_at)[0]
    nodes, buffers = _pairs(message, nodes_at, len(widths)), _pairs(message, buffers_at, 2 * len(widths))
    if (
        body < 0
        or any(of_node != rows or not 0 <= missing <= rows for of_node, missing in nodes)
        or any(begin < 0 or length < 0 or begin + length > body for begin, length in buffers)
        or any(length < rows * width for (_, length), width in zip(buffers[1::2], widths, strict=True))
    ):
        raise _Other
    bits = [
        Bits(column, missing, *place)
        for column, ((_, missing), place) in enumerate(zip(nodes, buffers[::2], strict=True))
        if missing
    ]
    return Batch(rows, len(message), body, tuple(begin for begin, _ in buffers[1::2]), tuple(bits))


def _places(message: bytes) -> tuple[int, int, int, int]:
    """Return where a batch's message has its rows, nodes and buffers, and its body's length."""
    root = _root(message, 2 * _WORD.size)
    version, kind, header, size_at = (_field(message, root, number) for number in range(4))
    if message[:4] != _CONTINUES or not version or not kind or not header or not size_at:
        raise _Other
    if message[version : version + 2] != _VERSION or message[kind] != _RECORD_BATCH:
        raise _Other
    table = _root(message, header)
    rows_at, nodes_at, buffers_at, compression = (_field(message, table, number) for number in range(4))
    if compression or not rows_at or not nodes_at or not buffers_at:
        raise _Other
    return rows_at, nodes_at, buffers_at, size_at


def _root(data: bytes, place: int) -> int:
    return place + int(_WORD.unpack_from(data, place)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a table's field is; 0: it has none."""
    layout = table - _SIGNED.unpack_from(data, table)[0]
    place = 4 + 2 * number
    if place >= _SHORT.unpack_from(data, layout)[0]:
        return 0
    offset = _SHORT.unpack_from(data, layout + place)[0]
    return table + offset if offset else 0


def _pairs(data: bytes, field: int, count: int) -> list[tuple[int, int]]:
    """Return a field's pairs of 64-bit numbers; raises _Other if they are not so many."""
    place = _root(data, field)
    if _WORD.unpack_from(data, place)[0] != count:
        raise _Other
    numbers = struct.unpack_from(f"<{2 * count}q", data, place + _WORD.size)
    return list(zip(numbers[::2], numbers[1::2], strict=True))
