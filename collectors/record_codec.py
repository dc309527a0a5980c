"""Records as bytes: an Arrow IPC stream with uncompressed buffers.

The schema's metadata holds one JSON object under `inflight`: the header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors import ipc, record_header
from collectors.records import (
    MAX_BYTES,
    MAX_ROWS,
    NUMBERS_BELOW,
    OUTCOMES,
    SECOND_NS,
    BadRecord,
    Bytes,
    Header,
    Kind,
    Ledger,
    Received,
    Record,
)


class Column(NamedTuple):
    """A column as it is read; `present` is None where all values are."""

    values: NDArray[Any]
    present: NDArray[np.bool_] | None


_RECEIVED = pa.schema(
    [
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("intended_ns", pa.int64(), nullable=False),
        pa.field("sent_ns", pa.int64(), nullable=False),
        pa.field("received_ns", pa.int64(), nullable=False),
        pa.field("ipdv_ns", pa.int64()),
        pa.field("flags", pa.uint8(), nullable=False),
    ]
)
_LEDGER = pa.schema(
    [
        pa.field("first_seq", pa.int64(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("outcome", pa.uint8(), nullable=False),
    ]
)
_NOTHING = pa.schema([])
_DTYPES: Final[Mapping[Any, np.dtype[Any]]] = {pa.int64(): np.dtype(np.int64), pa.uint8(): np.dtype(np.uint8)}
_SCHEMAS = {"received": _RECEIVED, "ledger": _LEDGER, "alive": _NOTHING, "bye": _NOTHING}
_FIELDS_OF = {
    len(schema): tuple((each.name, _DTYPES[each.type], each.nullable) for each in schema)
    for schema in (_RECEIVED, _LEDGER)
}
_ALL = np.ones(MAX_ROWS, np.bool_)
_ALL.flags.writeable = False
_KEY = b"inflight"
_FORMS = ipc.Forms()


def encode(header: Header, rows: Received | Ledger | None = None) -> bytes:
    """The record as bytes; ValueError where rows and kind do not fit, or there are too many rows."""
    schema, arrays = _columns(header.kind, rows)
    schema = schema.with_metadata({_KEY: record_header.encode(header)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if arrays:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return cast("bytes", sink.getvalue().to_pybytes())


def decode(data: bytes) -> Record:
    """The record in these bytes; BadRecord where there is none that this version can read."""
    if len(data) > MAX_BYTES:
        raise BadRecord("oversized", f"{len(data)} bytes; a record has at most {MAX_BYTES}")
    try:
        header, columns = _read(data)
        if header.kind == "received":
            return Record(header, received=_read_received(header, columns))
        if header.kind == "ledger":
            return Record(header, ledger=_read_ledger(header, columns))
        return Record(header)
    except BadRecord:
        raise
    except (
        pa.ArrowException,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        OSError,
        RecursionError,
    ) as error:
        raise BadRecord("malformed", f"{type(error).__name__}: {str(error)[:200]}") from None


def _columns(kind: Kind, rows: Received | Ledger | None) -> tuple[Any, list[Any]]:
    if kind == "received" and isinstance(rows, Received):
        _limit(len(rows.seq))
        ipdv = _array(rows.ipdv_ns, pa.int64(), rows.has_ipdv)
        plain = (rows.seq, rows.intended_ns, rows.sent_ns, rows.received_ns)
        return _RECEIVED, [*(_array(c, pa.int64()) for c in plain), ipdv, _array(rows.flags, pa.uint8())]
    if kind == "ledger" and isinstance(rows, Ledger):
        _limit(len(rows.first_seq))
        return _LEDGER, [
            _array(rows.first_seq, pa.int64()),
            _array(rows.length, pa.int64()),
            _array(rows.outcome, pa.uint8()),
        ]
    if kind in {"alive", "bye"} and rows is None:
        return _NOTHING, []
    raise ValueError(f"a record of kind {kind} with rows of type {type(rows).__name__}")


# Buffers are handed over as they are: `pa.array` and `to_numpy` would import pandas, a second of CPU.
def _array(values: NDArray[Any], kind: Any, present: NDArray[np.bool_] | None = None) -> Any:
    values = np.ascontiguousarray(values, _DTYPES[kind])
    bits = None
    if present is not None and not present.all():
        bits = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])


def _limit(rows: int) -> None:
    if rows > MAX_ROWS:
        raise ValueError(f"{rows} rows in one record; split them: at most {MAX_ROWS}")


def _read(data: bytes) -> tuple[Header, list[Column]]:
    frame = ipc.frame(data, record_header.BEGINS)
    schema = None if frame is None else _FORMS.get(frame)
    if frame is not None and schema is not None:
        columns = _columns_in_place(data, frame.end, schema)
        if columns is not None:
            header = record_header.decode(frame.text)
            if _SCHEMAS[header.kind] is schema:
                return header, columns
    with pa.ipc.open_stream(data) as stream:
        text = (stream.schema.metadata or {}).get(_KEY)
        if text is None:
            raise BadRecord("malformed", "an Arrow stream without an Inflight header")
        header = record_header.decode(text)
        schema = _SCHEMAS[header.kind]
        columns = _columns_of(stream, schema)
        if frame is not None and frame.text == text and stream.schema.equals(schema):
            _FORMS.put(frame, schema)
        return header, columns


def _columns_in_place(data: bytes, start: int, schema: Any) -> list[Column] | None:
    """Those of a stream of this schema whose only batch begins there; None: ask pyarrow."""
    fields = _FIELDS_OF.get(len(schema))
    if fields is None:
        return [] if ipc.ends(data, start) else None
    batch = _FORMS.batch(data, start, len(fields))
    if batch is None or not 0 <= batch.rows <= MAX_ROWS:
        return None
    found = []
    for place, (_, dtype, nullable) in enumerate(fields):
        bits, bits_length, values, length = batch.buffers[4 * place : 4 * place + 4]
        if length < batch.rows * dtype.itemsize:
            return None
        present = None
        if batch.nulls[place]:
            if not nullable or bits_length * 8 < batch.rows:
                return None
            present = _bits(np.frombuffer(data, np.uint8, bits_length, batch.body + bits), 0, batch.rows)
            if batch.rows - int(np.count_nonzero(present)) != batch.nulls[place]:
                return None
        found.append(Column(np.frombuffer(data, dtype, batch.rows, batch.body + values), present))
    return found


def _columns_of(stream: Any, schema: Any) -> list[Column]:
    """The schema's columns, whole and in its order; BadRecord where the stream has them not."""
    batches = list(stream)
    count = sum(batch.num_rows for batch in batches)
    if count > MAX_ROWS:
        raise BadRecord("oversized", f"{count} rows; a record has at most {MAX_ROWS}")
    if schema is _NOTHING:
        if stream.schema.names:
            raise BadRecord("malformed", "rows in a record of a kind that has none")
        return []
    if len(batches) == 1 and stream.schema.equals(schema):  # as `encode` writes them
        columns = batches[0].columns
    else:
        columns = _gathered(pa.Table.from_batches(batches, stream.schema), schema)
    for column, (name, _, nullable) in zip(columns, _FIELDS_OF[len(schema)], strict=True):
        if not nullable and column.null_count:
            raise BadRecord("malformed", f"column {name} has nulls")
    return [_column(column) for column in columns]


def _gathered(table: Any, schema: Any) -> list[Any]:
    found = []
    for wanted in schema:
        index = table.schema.get_field_index(wanted.name)
        if index < 0 or table.schema.field(index).type != wanted.type:
            raise BadRecord("malformed", f"column {wanted.name} is missing or not of type {wanted.type}")
        column = table.column(index)
        found.append(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], wanted.type))
    return found


def _column(column: Any) -> Column:
    """ValueError where the buffer is shorter than the column says."""
    dtype, count = _DTYPES[column.type], len(column)
    if not count:
        return Column(np.zeros(0, dtype), None)
    bits, values = column.buffers()
    present = None
    if column.null_count:
        present = _bits(np.frombuffer(bits, np.uint8), column.offset, count)
        if count - int(np.count_nonzero(present)) != column.null_count:
            raise BadRecord("malformed", "a column has not as many nulls as it says")
    return Column(np.frombuffer(values, dtype, count, column.offset * dtype.itemsize), present)


def _bits(data: Bytes, offset: int, count: int) -> NDArray[np.bool_]:
    return np.unpackbits(data, count=offset + count, bitorder="little")[offset:].view(np.bool_)


def _read_received(header: Header, columns: list[Column]) -> Received:
    seq, intended_ns, sent_ns, received_ns, ipdv_ns, flags = (column.values for column in columns)
    has_ipdv = columns[4].present
    if has_ipdv is None:
        has_ipdv = _ALL[: len(seq)]
    else:
        ipdv_ns = np.where(has_ipdv, ipdv_ns, 0)
    rows = Received(seq, intended_ns, sent_ns, received_ns, ipdv_ns, has_ipdv, flags)
    start_ns = header.second * SECOND_NS
    if start_ns >= NUMBERS_BELOW:
        raise BadRecord("malformed", "a second out of range")
    if len(seq):
        # All bits of all numbers together: below 0 where one is, and not below the limit where one is not.
        bits = int(np.bitwise_or.reduce(seq | intended_ns | received_ns | (ipdv_ns ^ (ipdv_ns >> 63))))
        if not 0 <= bits < NUMBERS_BELOW:
            raise BadRecord("malformed", "negative or huge numbers among the rows")
        # As unsigned numbers, those before the second are huge.
        if int((sent_ns - start_ns).view(np.uint64).max()) >= SECOND_NS:
            raise BadRecord("malformed", "rows that were not sent in the header's second")
    return rows


def _read_ledger(header: Header, columns: list[Column]) -> Ledger:
    if header.second * SECOND_NS >= NUMBERS_BELOW:
        raise BadRecord("malformed", "a second out of range")
    rows = Ledger(*(column.values for column in columns))
    if len(rows.first_seq):
        ends = rows.first_seq + rows.length
        bits = int(np.bitwise_or.reduce(rows.first_seq | rows.length | ends))
        fits = 0 <= bits < NUMBERS_BELOW and bool(rows.length.all())
        if not fits or (len(ends) > 1 and (rows.first_seq[1:] < ends[:-1]).any()):
            raise BadRecord("malformed", "ledger runs that are empty, negative or overlap")
        if int(rows.outcome.max()) >= len(OUTCOMES):
            raise BadRecord("malformed", f"an outcome above {len(OUTCOMES) - 1}")
    return rows
