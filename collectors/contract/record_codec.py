"""Records as bytes: an Arrow IPC stream with uncompressed buffers.

The schema's metadata holds the header: under `inflight.run` what is the same in all records of a run, under
`inflight` the rest, each a JSON object. Times of rows are written as differences, and each column is of the
narrowest type that holds it: most of a record are numbers of four bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.contract import arrow_stream, record_header
from collectors.contract.records import (
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


class Columns(NamedTuple):
    """`present` says which values of the one column that may lack some are there; None: all."""

    values: list[NDArray[Any]]
    present: NDArray[np.bool_] | None = None


_WIDE: Final = np.dtype(np.int64)
_COUNTS: Final = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32), _WIDE)
_SIGNED: Final = (np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), _WIDE)
_BYTE: Final = (np.dtype(np.uint8),)


class _Form(NamedTuple):
    """A column as it may be written: its types, the narrowest first, and whether values may be missing."""

    name: str
    dtypes: tuple[np.dtype[Any], ...]
    nullable: bool = False


_RECEIVED: Final = (
    _Form("seq", _COUNTS),  # from the header's `base`
    _Form("sent_ns", _COUNTS),  # from the beginning of the header's second
    _Form("delay_ns", _SIGNED),  # sent − intended
    _Form("service_ns", _SIGNED),  # received − sent
    _Form("ipdv_ns", _SIGNED, nullable=True),
    _Form("flags", _BYTE),
)
_LEDGER: Final = (
    _Form("first_seq", _COUNTS),  # from the header's `base`
    _Form("length", _COUNTS),
    _Form("outcome", _BYTE),
)
_FORMS_OF: Final[Mapping[Kind, tuple[_Form, ...]]] = {
    "received": _RECEIVED,
    "ledger": _LEDGER,
    "alive": (),
    "bye": (),
}
_TYPES: Final = {dtype: pa.from_numpy_dtype(dtype) for dtype in (*_COUNTS, *_SIGNED)}
_DTYPES: Final = {kind: dtype for dtype, kind in _TYPES.items()}
_NEAR: Final = 1 << 34  # no two numbers of four bytes are further apart, nor a sum of them and a second
_KEY_OF_RUN: Final = b"inflight.run"
_KEY: Final = b"inflight"
_KNOWN = arrow_stream.Forms()


def encode(header: Header, rows: Received | Ledger | None = None) -> bytes:
    """Return the record's bytes; raises ValueError if the rows are too many, or not of the header's kind."""
    base, columns = _columns(header, rows)
    forms = _FORMS_OF[header.kind]
    arrays = [
        _array(values, form, columns.present if form.nullable else None)
        for values, form in zip(columns.values, forms, strict=True)
    ]
    of_run, text = record_header.encode(header, base)
    schema = pa.schema(
        [pa.field(form.name, array.type, form.nullable) for form, array in zip(forms, arrays, strict=True)],
        {_KEY_OF_RUN: of_run, _KEY: text},
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if arrays:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return cast("bytes", sink.getvalue().to_pybytes())


def decode(data: bytes) -> Record:
    """Read a record; raises BadRecord if this version cannot."""
    if len(data) > MAX_BYTES:
        raise BadRecord("oversized", f"{len(data)} bytes; a record has at most {MAX_BYTES}")
    try:
        header, base, columns = _read(data)
        if header.kind == "received":
            return Record(header, received=_read_received(header, base, columns))
        if header.kind == "ledger":
            return Record(header, ledger=_read_ledger(header, base, columns))
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


def _columns(header: Header, rows: Received | Ledger | None) -> tuple[int, Columns]:
    """Return the number from which the rows' numbers are counted, and the columns as they are written."""
    if header.kind == "received" and isinstance(rows, Received):
        _bounded(rows.size)
        sent_ns = rows.sent_ns - header.second * SECOND_NS
        values = [rows.from_base, sent_ns, rows.delay_ns, rows.service_ns, rows.ipdv_ns, rows.flags]
        return rows.base, Columns(values, rows.present)
    if header.kind == "ledger" and isinstance(rows, Ledger):
        _bounded(len(rows.first_seq))
        base = max(int(rows.first_seq.min()), 0) if len(rows.first_seq) else 0
        return base, Columns([rows.first_seq - base, rows.length, rows.outcome])
    if header.kind in {"alive", "bye"} and rows is None:
        return 0, Columns([])
    raise ValueError(f"a record of kind {header.kind} with rows of type {type(rows).__name__}")


def _bounded(count: int) -> None:
    if count > MAX_ROWS:
        raise ValueError(f"{count} rows in one record; split them: at most {MAX_ROWS}")


# Buffers are handed over as they are: `pa.array` and `to_numpy` would import pandas, a second of CPU.
def _array(values: NDArray[Any], form: _Form, present: NDArray[np.bool_] | None) -> Any:
    values = np.ascontiguousarray(values, _narrowest(values, form.dtypes))
    bits = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(_TYPES[values.dtype], len(values), [bits, pa.py_buffer(values)])


def _narrowest(values: NDArray[Any], dtypes: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    if len(dtypes) == 1 or not len(values):
        return dtypes[0]
    least, most = int(values.min()), int(values.max())
    return next(each for each in dtypes if np.iinfo(each).min <= least and most <= np.iinfo(each).max)


class _Learned(NamedTuple):
    """What pyarrow found in a stream; it holds for all that differ from it in numbers and header only."""

    of_run: record_header.Values
    forms: tuple[_Form, ...]
    dtypes: tuple[np.dtype[Any], ...]
    widths: bytes  # of the dtypes


def _read(data: bytes) -> tuple[Header, int, Columns]:
    frame = arrow_stream.frame(data, record_header.BEGINS)
    learned = None if frame is None else _KNOWN.get(frame)
    if frame is not None and learned is not None:
        columns = _columns_in_place(data, frame.end, learned)
        if columns is not None:
            header, base = record_header.decode(learned.of_run, frame.text)
            if _FORMS_OF[header.kind] is learned.forms:
                return header, base, columns
    if not arrow_stream.is_plain(data):
        raise BadRecord("malformed", "no Arrow stream of a schema and batches of uncompressed numbers")
    with pa.ipc.open_stream(data) as stream:
        texts = stream.schema.metadata or {}
        if _KEY_OF_RUN not in texts or _KEY not in texts:
            raise BadRecord("malformed", "an Arrow stream without an Inflight header")
        of_run = record_header.decode_run(texts[_KEY_OF_RUN])
        header, base = record_header.decode(of_run, texts[_KEY])
        forms = _FORMS_OF[header.kind]
        columns = _columns_of(stream, forms)
        if frame is not None and _is_only_text(data, frame, texts[_KEY]) and _fits(stream.schema, forms):
            dtypes = tuple(_DTYPES[kind] for kind in stream.schema.types)
            _learn(data, frame, _Learned(of_run, forms, dtypes, bytes(each.itemsize for each in dtypes)))
        return header, base, columns


def _is_only_text(data: bytes, frame: arrow_stream.Frame, text: bytes) -> bool:
    """Return whether the text is the one that pyarrow found, and no other could be taken for it."""
    return frame.text == text and data.count(record_header.BEGINS, 0, frame.end) == 1


def _learn(data: bytes, frame: arrow_stream.Frame, learned: _Learned) -> None:
    """Remember what pyarrow found in this stream."""
    if learned.forms:
        batch = arrow_stream.batch_in(data, frame.end, learned.widths)
        if batch is None:
            return
        _KNOWN.put_batch(data, frame.end, learned.widths, batch)
    _KNOWN.put(frame, learned)


def _columns_in_place(data: bytes, start: int, learned: _Learned) -> Columns | None:
    """Return the columns of a stream whose only batch begins there; None: pyarrow has to read it."""
    if not learned.forms:
        return Columns([]) if arrow_stream.ends(data, start) else None
    batch = _KNOWN.batch(data, start, learned.widths)
    if batch is None or not 0 <= batch.rows <= MAX_ROWS:
        return None
    rows, body = batch.rows, start + batch.message
    present = None
    for column, missing, begin, length in batch.bits:
        if not learned.forms[column].nullable or length * 8 < rows:
            return None
        present = _bits(np.frombuffer(data, np.uint8, length, body + begin), 0, rows)
        if rows - int(np.count_nonzero(present)) != missing:
            return None
    places = zip(learned.dtypes, batch.values, strict=True)
    return Columns([np.frombuffer(data, dtype, rows, body + begin) for dtype, begin in places], present)


def _fits(schema: Any, forms: tuple[_Form, ...]) -> bool:
    """Return whether it has these columns in this order, and no others."""
    return len(schema) == len(forms) and all(
        field.name == form.name and field.nullable == form.nullable and _DTYPES.get(field.type) in form.dtypes
        for field, form in zip(schema, forms, strict=True)
    )


def _columns_of(stream: Any, forms: tuple[_Form, ...]) -> Columns:
    """Return the columns in the order of `forms`; raises BadRecord if the stream lacks one."""
    batches = list(stream)
    count = sum(batch.num_rows for batch in batches)
    if count > MAX_ROWS:
        raise BadRecord("oversized", f"{count} rows; a record has at most {MAX_ROWS}")
    if not forms:
        if stream.schema.names:
            raise BadRecord("malformed", "rows in a record of a kind that has none")
        return Columns([])
    if len(batches) == 1 and _fits(stream.schema, forms):  # as `encode` writes them
        columns = batches[0].columns
    else:
        columns = _gathered(pa.Table.from_batches(batches, stream.schema), forms)
    present = None
    for column, form in zip(columns, forms, strict=True):
        if column.null_count:
            if not form.nullable:
                raise BadRecord("malformed", f"column {form.name} has nulls")
            present = _present(column)
    return Columns([_values(column) for column in columns], present)


def _gathered(table: Any, forms: tuple[_Form, ...]) -> list[Any]:
    found = []
    for form in forms:
        index = table.schema.get_field_index(form.name)
        if index < 0 or _DTYPES.get(table.schema.field(index).type) not in form.dtypes:
            wanted = ", ".join(map(str, form.dtypes))
            raise BadRecord("malformed", f"column {form.name} is missing or of none of the types {wanted}")
        column = table.column(index)
        kind = column.type
        found.append(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind))
    return found


def _values(column: Any) -> NDArray[Any]:
    """Return the column's values; raises ValueError if its buffer is too short."""
    dtype, count = _DTYPES[column.type], len(column)
    if not count:
        return np.zeros(0, dtype)
    return np.frombuffer(column.buffers()[1], dtype, count, column.offset * dtype.itemsize)


def _present(column: Any) -> NDArray[np.bool_]:
    found = _bits(np.frombuffer(column.buffers()[0], np.uint8), column.offset, len(column))
    if len(column) - int(np.count_nonzero(found)) != column.null_count:
        raise BadRecord("malformed", "a column has not as many nulls as it says")
    return found


def _bits(data: Bytes, offset: int, count: int) -> NDArray[np.bool_]:
    return np.unpackbits(data, count=offset + count, bitorder="little")[offset:].view(np.bool_)


def _read_received(header: Header, base: int, columns: Columns) -> Received:
    start_ns = _start_ns(header)
    numbers, sent_ns, delay_ns, service_ns, ipdv_ns, flags = columns.values
    present = columns.present
    if len(sent_ns):
        least_ns = int(sent_ns.min()) if sent_ns.dtype == _WIDE else 0
        if least_ns < 0 or int(sent_ns.max()) >= SECOND_NS:
            raise BadRecord("malformed", "rows that were not sent in the header's second")
    if present is not None:
        ipdv_ns = np.where(present, ipdv_ns, 0)
    rows = Received(base, start_ns, numbers, sent_ns, delay_ns, service_ns, ipdv_ns, present, flags)
    if len(flags) and not (_are_near(columns.values[:5], base) and _NEAR <= start_ns < NUMBERS_BELOW - _NEAR):
        ipdv_ns = ipdv_ns.astype(np.int64)
        _check_bits(rows.seq | rows.intended_ns | rows.received_ns | (ipdv_ns ^ (ipdv_ns >> 63)))
    return rows


def _read_ledger(header: Header, base: int, columns: Columns) -> Ledger:
    _start_ns(header)
    *numbers, outcome = columns.values
    first_seq, length = (each.astype(np.int64) for each in numbers)
    first_seq += base
    if len(first_seq) == 1 and _are_near(numbers, base):  # as in most records
        if not length[0] or outcome[0] >= len(OUTCOMES):
            raise BadRecord("malformed", f"an empty range, or an outcome above {len(OUTCOMES) - 1}")
    elif len(first_seq):
        ends = first_seq + length
        if not _are_near(numbers, base):
            _check_bits(first_seq | length | ends)
        if not length.all() or (len(ends) > 1 and (first_seq[1:] < ends[:-1]).any()):
            raise BadRecord("malformed", "ledger ranges that are empty or overlap")
        if int(outcome.max()) >= len(OUTCOMES):
            raise BadRecord("malformed", f"an outcome above {len(OUTCOMES) - 1}")
    return Ledger(first_seq, length, outcome)


def _start_ns(header: Header) -> int:
    start_ns = header.second * SECOND_NS
    if start_ns >= NUMBERS_BELOW:
        raise BadRecord("malformed", "a second out of range")
    return start_ns


def _are_near(columns: list[NDArray[Any]], base: int) -> bool:
    """Return whether all numbers are certainly in range, as in columns of at most four bytes."""
    return base < NUMBERS_BELOW - _NEAR and max([each.itemsize for each in columns]) < _WIDE.itemsize


def _check_bits(numbers: NDArray[np.int64]) -> None:
    """Raise BadRecord if a number is negative or too large, by the bits of all together."""
    if not 0 <= int(np.bitwise_or.reduce(numbers)) < NUMBERS_BELOW:
        raise BadRecord("malformed", "negative or huge numbers among the rows")
