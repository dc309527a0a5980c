"""The records that probes write to `inflight.samples`, and their wire format: the contract.

A record is an Arrow IPC stream with uncompressed buffers. The schema's metadata holds one JSON object under
`inflight`: the header. `received` and `ledger` records have rows, `alive` and `bye` have none. What the
fields mean, and what the job makes of them, is told in streaming/accounting.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, cast, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors import ipc

FORMAT: Final = 1
MAX_ROWS: Final = 16_384  # of one record; a second of 100,000 rows would be over Kafka's usual limits
MAX_BYTES: Final = 1_000_000  # of one encoded record
SECOND_NS: Final = 1_000_000_000

Kind = Literal["received", "ledger", "alive", "bye"]
Role = Literal["sender", "receiver"]
Link = Literal["attached", "detached"]
Outcome = Literal["presettled", "accepted", "rejected", "released", "modified", "unsettled"]
UnsentReason = Literal["no_credit", "no_connection", "guard"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)  # a ledger row's `outcome` is an index into these
UNSENT_REASONS: Final[tuple[UnsentReason, ...]] = get_args(UnsentReason)
FLAG_REDELIVERED: Final = 1
FLAG_REORDERED: Final = 2

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BadRecordReason = Literal["malformed", "version", "oversized"]


class BadRecord(Exception):  # noqa: N818 -- it is the record that is bad
    """These bytes are no record of this format; `reason` is what they are counted under."""

    def __init__(self, reason: BadRecordReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


class Gap(NamedTuple):
    """What an end declares as given up: its records `first` to `last`, and the time they covered."""

    first: int
    last: int
    from_ns: int
    to_ns: int


class Span(NamedTuple):
    """A stretch of an end's time, [from_ns, to_ns)."""

    from_ns: int
    to_ns: int


class Clock(NamedTuple):
    """A receiver's clock minus a sender's, and how far off that may be."""

    offset_ns: int
    bound_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What every record says about the end that wrote it, and what its kind adds."""

    kind: Kind
    mesh: str
    path: str
    address: str
    source: str  # the site or endpoint that sends, and the one that receives: labels, nothing more
    target: str
    role: Role
    name: str  # of the end, as configured: stays the same over restarts
    run: str  # 16 hex digits, new with each start of the process
    number: int  # of this record among the end's, from 0
    observed_from_ns: int  # the run measures since then
    frontier_ns: int  # everything it saw until then is published with this record
    senders: int  # as configured
    receivers: int
    multicast: bool = False  # outcomes are then of the whole fan-out
    via_broker: bool = False
    presettled: bool = False
    warmup: bool = False  # a run of its own, which the accounting ignores
    link: Link = "attached"
    detached: tuple[Span, ...] = ()  # when the link was down, since the record before
    gaps: tuple[Gap, ...] = ()

    # received, ledger
    stream: str = ""  # the run of the sender whose numbers these are
    second: int = 0  # the rows' messages were sent in [second, second + 1)
    body_bytes: int = 0  # of all the rows' messages together

    # received
    rfc3550_ns: int = 0  # the smoothed jitter estimate after the last row
    routes: Mapping[str, int] = field(default_factory=dict)  # messages by route, where routers tell it

    # of receivers, in any kind
    clock: Mapping[str, Clock] = field(default_factory=dict)  # by stream
    foreign: int = 0  # bodies that are not ours, or not of this flow, since the record before

    # ledger: of the second; the highest revision wins
    revision: int = 0
    due: int = 0  # messages that the schedule wanted sent in this second
    backlog: int = 0  # of them, not sent yet
    unsent: Mapping[UnsentReason, int] = field(default_factory=dict)  # of them, given up for good

    # of senders, in any kind
    oldest_due_ns: int | None = None  # the intended time of the oldest message not sent yet


class Received(NamedTuple):
    """Columns of a `received` record, in order of arrival."""

    seq: Ints
    intended_ns: Ints
    sent_ns: Ints
    received_ns: Ints
    ipdv_ns: Ints  # 0 where `has_ipdv` is false
    has_ipdv: NDArray[np.bool_]
    flags: Bytes


class Ledger(NamedTuple):
    """Columns of a `ledger` record: runs of equal outcome, in order of `first_seq`."""

    first_seq: Ints
    length: Ints
    outcome: Bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is read: `rows` are of the header's kind."""

    header: Header
    received: Received | None = None
    ledger: Ledger | None = None


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
_LIMIT = 1 << 62  # of numbers: leaves room to add a window or a horizon without leaving 64 bits
_ALL = np.ones(MAX_ROWS, np.bool_)
_ALL.flags.writeable = False
_KEY = b"inflight"
_BEGINS = b'{"v":'  # the header, as `encode` writes it
_FORMS = ipc.Forms()
_DEFAULTS = {
    f.name: f.default if f.default is not dataclasses.MISSING else {}
    for f in dataclasses.fields(Header)
    if f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
}
_FIELDS = tuple(f.name for f in dataclasses.fields(Header))
_REQUIRED = frozenset(_FIELDS) - frozenset(_DEFAULTS)


def flow_hash(mesh: str, address: str) -> int:
    """64 bits that tell one flow's message bodies from another's."""
    digest = hashlib.blake2b(f"{mesh}\0{address}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def encode(header: Header, rows: Received | Ledger | None = None) -> bytes:
    """The record as bytes; ValueError where rows and kind do not fit, or there are too many rows."""
    schema, arrays = _columns(header.kind, rows)
    # Fields at their defaults are left out: most of a header is them.
    values = {
        name: value
        for name in _FIELDS
        if (value := getattr(header, name)) != _DEFAULTS.get(name, dataclasses.MISSING)
    }
    text = json.dumps({"v": FORMAT, **values}, separators=(",", ":"), default=dict)
    schema = schema.with_metadata({_KEY: text.encode()})
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


def received_rows(
    seq: Sequence[int] | Ints,
    intended_ns: Sequence[int] | Ints,
    sent_ns: Sequence[int] | Ints,
    received_ns: Sequence[int] | Ints,
    ipdv_ns: Sequence[int | None],
    flags: Sequence[int] | Bytes,
) -> Received:
    """Rows from plain lists, as a receiver gathers them."""
    return Received(
        np.asarray(seq, np.int64),
        np.asarray(intended_ns, np.int64),
        np.asarray(sent_ns, np.int64),
        np.asarray(received_ns, np.int64),
        np.asarray([v or 0 for v in ipdv_ns], np.int64),
        np.asarray([v is not None for v in ipdv_ns], np.bool_),
        np.asarray(flags, np.uint8),
    )


def ledger_rows(runs: Sequence[tuple[int, int, Outcome]]) -> Ledger:
    """Rows from (first number, length, outcome)."""
    return Ledger(
        np.asarray([r[0] for r in runs], np.int64),
        np.asarray([r[1] for r in runs], np.int64),
        np.asarray([OUTCOMES.index(r[2]) for r in runs], np.uint8),
    )


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


def _header(raw: Any) -> Header:
    if not isinstance(raw, dict):
        raise BadRecord("malformed", "the header is not a JSON object")
    version = raw.pop("v", None)
    if version != FORMAT:
        raise BadRecord("version", f"format {version!r}; this reader knows format {FORMAT}")
    if missing := _REQUIRED - raw.keys():
        raise BadRecord("malformed", f"the header lacks {', '.join(sorted(missing))}")
    for name, value in raw.items():
        check = _CHECKS.get(name)
        if check is None:
            unknown = ", ".join(sorted(raw.keys() - _CHECKS.keys()))
            raise BadRecord("malformed", f"the header has unknown fields: {unknown[:200]}")
        check(name, value)
    for name, kind in (("detached", Span), ("gaps", Gap)):
        if name in raw:
            raw[name] = tuple(kind(*item) for item in raw[name])
    if "clock" in raw:
        raw["clock"] = {stream: Clock(*item) for stream, item in raw["clock"].items()}
    return Header(**raw)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > 1024:  # noqa: PLR2004 -- a bound on names
        raise BadRecord("malformed", f"header field {name} is not a text of at most 1024 characters")


def _int(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value < _LIMIT:
        raise BadRecord("malformed", f"header field {name} is not a whole number from 0 to 2^62")


def _flag(name: str, value: Any) -> None:
    if type(value) is not bool:
        raise BadRecord("malformed", f"header field {name} is not true or false")


def _one_of(*allowed: str) -> Any:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise BadRecord("malformed", f"header field {name} is none of {', '.join(allowed)}")

    return check


def _run(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) != 16 or not set(value) <= set("0123456789abcdef"):  # noqa: PLR2004
        raise BadRecord("malformed", f"header field {name} is not 16 hexadecimal digits")


def _tuples(width: int) -> Any:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) > MAX_ROWS:
            raise BadRecord("malformed", f"header field {name} is not a short list")
        for item in value:
            if not isinstance(item, list) or len(item) != width:
                raise BadRecord("malformed", f"header field {name} has an item that is not {width} numbers")
            for number in item:
                _int(name, number)

    return check


def _counts(keys: Sequence[str] | None) -> Any:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
            raise BadRecord("malformed", f"header field {name} is not a small JSON object")
        for key, count in value.items():
            if keys is not None and key not in keys:
                raise BadRecord("malformed", f"header field {name} has unknown key {key[:50]}")
            _int(name, count)

    return check


def _clocks(name: str, value: Any) -> None:
    if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
        raise BadRecord("malformed", f"header field {name} is not a small JSON object")
    for stream, pair in value.items():
        _run(name, stream)
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:  # noqa: PLR2004
            raise BadRecord("malformed", f"header field {name} has an item that is not offset and bound")
        _int(name, abs(pair[0]))  # an offset may be negative
        _int(name, pair[1])


def _oldest(name: str, value: Any) -> None:
    if value is not None:
        _int(name, value)


_CHECKS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("mesh", "path", "address", "source", "target", "name"), _text),
    **dict.fromkeys(
        (
            *("number", "observed_from_ns", "frontier_ns", "senders", "receivers", "second", "body_bytes"),
            *("rfc3550_ns", "foreign", "revision", "due", "backlog"),
        ),
        _int,
    ),
    **dict.fromkeys(("multicast", "via_broker", "presettled", "warmup"), _flag),
    "kind": _one_of(*get_args(Kind)),
    "role": _one_of(*get_args(Role)),
    "link": _one_of(*get_args(Link)),
    "run": _run,
    "stream": _run,
    "detached": _tuples(2),
    "gaps": _tuples(4),
    "routes": _counts(None),
    "unsent": _counts(UNSENT_REASONS),
    "clock": _clocks,
    "oldest_due_ns": _oldest,
}


def _read(data: bytes) -> tuple[Header, list[Column]]:
    frame = ipc.frame(data, _BEGINS)
    schema = None if frame is None else _FORMS.get(frame)
    if frame is not None and schema is not None:
        columns = _columns_in_place(data, frame.end, schema)
        if columns is not None:
            header = _header(json.loads(frame.text))
            if _SCHEMAS[header.kind] is schema:
                return header, columns
    with pa.ipc.open_stream(data) as stream:
        text = (stream.schema.metadata or {}).get(_KEY)
        if text is None:
            raise BadRecord("malformed", "an Arrow stream without an Inflight header")
        header = _header(json.loads(text))
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
    if start_ns >= _LIMIT:
        raise BadRecord("malformed", "a second out of range")
    if len(seq):
        # All bits of all numbers together: below 0 where one is, and not below the limit where one is not.
        bits = int(np.bitwise_or.reduce(seq | intended_ns | received_ns | (ipdv_ns ^ (ipdv_ns >> 63))))
        if not 0 <= bits < _LIMIT:
            raise BadRecord("malformed", "negative or huge numbers among the rows")
        # As unsigned numbers, those before the second are huge.
        if int((sent_ns - start_ns).view(np.uint64).max()) >= SECOND_NS:
            raise BadRecord("malformed", "rows that were not sent in the header's second")
    return rows


def _read_ledger(header: Header, columns: list[Column]) -> Ledger:
    if header.second * SECOND_NS >= _LIMIT:
        raise BadRecord("malformed", "a second out of range")
    rows = Ledger(*(column.values for column in columns))
    if len(rows.first_seq):
        ends = rows.first_seq + rows.length
        bits = int(np.bitwise_or.reduce(rows.first_seq | rows.length | ends))
        fits = 0 <= bits < _LIMIT and bool(rows.length.all())
        if not fits or (len(ends) > 1 and (rows.first_seq[1:] < ends[:-1]).any()):
            raise BadRecord("malformed", "ledger runs that are empty, negative or overlap")
        if int(rows.outcome.max()) >= len(OUTCOMES):
            raise BadRecord("malformed", f"an outcome above {len(OUTCOMES) - 1}")
    return rows
