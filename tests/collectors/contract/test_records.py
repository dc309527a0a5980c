"""The wire format: what was written is read, golden bytes stay readable, and bad bytes are told apart."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from by_hand import ledger_rows, received_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract import record_header, records
from collectors.contract.record_codec import decode, encode
from collectors.contract.record_header import OF_RUN
from collectors.contract.records import (
    MAX_ROWS,
    OUTCOMES,
    SECOND_NS,
    BadRecord,
    Clock,
    Gap,
    Header,
    Ledger,
    Received,
    Span,
    flow_hash,
)

GOLDEN = Path(__file__).parents[2] / "fixtures" / "records"
SECOND = 1_700_000_000
START = SECOND * SECOND_NS
quick = settings(max_examples=60)


def header(kind: Any, **more: Any) -> Header:
    fields: dict[str, Any] = {
        "mesh": "prod",
        "path": "east-west",
        "address": "inflight/east-west",
        "source": "east",
        "target": "west",
        "role": "sender" if kind == "ledger" else "receiver",
        "name": "west-1",
        "run": "00000000deadbeef",
        "number": 7,
        "observed_from_ns": START - SECOND_NS,
        "frontier_ns": START + 2 * SECOND_NS,
        "senders": 1,
        "receivers": 2,
    }
    return Header(kind=kind, **{**fields, **more})


RECEIVED = header(
    "received",
    stream="00000000cafecafe",
    second=SECOND,
    body_bytes=768,
    rfc3550_ns=12_345,
    routes={"east>hub>west": 3},
    clock={"00000000cafecafe": Clock(-250_000, 40_000)},
    foreign=1,
    link="detached",
    detached=(Span(START, START + 5),),
    gaps=(Gap(2, 3, START - 9, START - 5),),
)
ROWS = received_rows(
    [10, 12, 11],
    [START, START + 100, START + 50],
    [START + 1, START + 101, START + 51],
    [START + 900, START + 1_000, START + 2_000],
    [None, 0, -150],
    [0, 0, 2],
)
LEDGER = header(
    "ledger",
    run="00000000cafecafe",
    stream="00000000cafecafe",
    second=SECOND,
    body_bytes=768,
    revision=2,
    due=5,
    backlog=1,
    unsent={"guard": 1},
    oldest_due_ns=START + 77,
    multicast=True,
    via_broker=True,
    presettled=True,
    warmup=True,
)
RUNS = ledger_rows([(10, 2, "accepted"), (12, 1, "unsettled")])
WRITTEN: dict[str, tuple[Header, Any]] = {
    "received": (RECEIVED, ROWS),
    "ledger": (LEDGER, RUNS),
    "alive": (header("alive"), None),
    "bye": (header("bye", role="sender", oldest_due_ns=START), None),
}


def same(rows: Any, others: Any) -> bool:
    if rows is None or others is None:
        return rows is others
    return all(np.array_equal(a, b) for a, b in zip(columns(rows), columns(others), strict=True))


def columns(rows: Received | Ledger) -> tuple[Any, ...]:
    if isinstance(rows, Ledger):
        return rows
    times = rows.intended_ns, rows.sent_ns, rows.received_ns
    return rows.seq, *times, rows.ipdv_ns, rows.has_ipdv, rows.flags


@pytest.mark.parametrize("kind", WRITTEN)
def test_golden_bytes_stay_readable(kind: str) -> None:
    """Records that wait in a spool or in Kafka are read by every later version of this format."""
    told, rows = WRITTEN[kind]
    found = decode((GOLDEN / f"{kind}-2.arrow").read_bytes())
    assert found.header == told
    assert same(found.received or found.ledger, rows)


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_record_reads_as_it_was_written(kind: str) -> None:
    """All fields, all columns."""
    told, rows = WRITTEN[kind]
    found = decode(encode(told, rows))
    assert found.header == told
    assert same(found.received or found.ledger, rows)


texts = st.text(max_size=20)
names = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)
counts = st.integers(0, (1 << 40) - 1)
times = st.integers(0, (1 << 62) - 1)
runs = st.integers(0, (1 << 64) - 1).map(lambda value: f"{value:016x}")
headers = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["alive", "bye"]),
        "mesh": names,
        "path": texts,
        "address": texts,
        "source": names,
        "target": names,
        "role": st.sampled_from(["sender", "receiver"]),
        "name": names,
        "run": runs,
        "number": counts,
        "observed_from_ns": times,
        "frontier_ns": times,
        "senders": st.integers(0, 9),
        "receivers": st.integers(0, 9),
        "multicast": st.booleans(),
        "warmup": st.booleans(),
        "link": st.sampled_from(["attached", "detached"]),
        "detached": st.lists(st.builds(Span, times, times), max_size=3).map(tuple),
        "unwatched": st.lists(st.builds(Span, times, times), max_size=3).map(tuple),
        "gaps": st.lists(st.builds(Gap, times, times, times, times), max_size=3).map(tuple),
        "routes": st.dictionaries(names, counts, max_size=3),
        "clock": st.dictionaries(runs, st.builds(Clock, times.map(lambda value: -value), times), max_size=3),
        "unsent": st.dictionaries(st.sampled_from(records.UNSENT_REASONS), counts),
        "oldest_due_ns": st.none() | times,
    }
).map(lambda fields: Header(**fields))


@quick
@given(headers)
def test_any_header_reads_as_it_was_written(told: Header) -> None:
    """Names in any script, every number that fits."""
    assert decode(encode(told)).header == told


@quick
@given(
    st.lists(
        st.tuples(
            times,
            times,
            st.integers(0, SECOND_NS - 1),
            times,
            st.none() | st.integers(-1_000, 1_000),
            st.integers(0, 3),
        ),
        max_size=30,
    )
)
def test_any_rows_read_as_they_were_written(items: list[Any]) -> None:
    """In order of arrival, whatever that is; none at all, too."""
    seq, intended, sent, received, ipdv, flags = ([item[i] for item in items] for i in range(6))
    rows = received_rows(seq, intended, [START + part for part in sent], received, ipdv, flags)
    found = decode(encode(RECEIVED, rows)).received
    assert same(found, rows)


@quick
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 1 << 40), st.sampled_from(OUTCOMES)), max_size=30)
)
def test_any_ledger_reads_as_it_was_written(items: list[Any]) -> None:
    """Runs in order, with or without numbers between them."""
    told, at = [], 0
    for skip, length, outcome in items:
        told.append((at + skip, length, outcome))
        at += skip + length
    assert same(decode(encode(LEDGER, ledger_rows(told))).ledger, ledger_rows(told))


def test_a_row_takes_half_the_bytes_of_its_numbers() -> None:
    """A second of 1,000 messages; columns are as narrow as their values let them be."""
    at = np.arange(1_000)
    sent = START + at * 1_000_000
    told = received_rows(10**12 + at, sent - 90_000 - at, sent, sent + 2_000_000, [at[0]] * 1_000, at * 0)
    data = encode(RECEIVED, told)
    assert same(decode(data).received, told)
    with pa.ipc.open_stream(data) as stream:
        assert [str(kind) for kind in stream.schema.types] == [
            *("uint16", "uint32", "int32", "int32", "int8", "uint8"),
        ]
    assert len(data) < 1_000 * (5 * 8 + 1) / 2


def reason(data: bytes) -> str:
    with pytest.raises(BadRecord) as caught:
        decode(data)
    assert len(caught.value.detail) < 400
    return caught.value.reason


KEYS = (b"inflight.run", b"inflight")


def with_header(change: Any, kind: str = "received", key: bytes = KEYS[1]) -> bytes:
    """The bytes of a record whose header has another JSON under this key."""
    with pa.ipc.open_stream(encode(*WRITTEN[kind])) as stream:
        table = stream.read_all()
    texts = table.schema.metadata
    told = json.loads(texts[key])
    text = change(told) if callable(change) else change
    text = text if isinstance(text, str) else json.dumps(text)
    return as_stream(table.replace_schema_metadata({**texts, key: text.encode()}))


def key_of(field: str) -> bytes:
    """Which of the two JSON objects tells it."""
    return KEYS[0] if field in {"v", *OF_RUN} else KEYS[1]


def as_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_a_newer_format_is_refused_as_such() -> None:
    """Not as malformed: somebody upgrades in the wrong order."""
    newer = with_header(lambda told: {**told, "v": records.FORMAT + 1}, key=KEYS[0])
    assert reason(newer) == "version"
    none = with_header(lambda told: {k: v for k, v in told.items() if k != "v"}, key=KEYS[0])
    assert reason(none) == "version"


@pytest.mark.parametrize("field", ["kind", "mesh", "path", "run", "number", "frontier_ns", "role"])
def test_a_header_that_lacks_a_field_is_malformed(field: str) -> None:
    """It says which."""
    data = with_header(lambda told: {k: v for k, v in told.items() if k != field}, key=key_of(field))
    with pytest.raises(BadRecord, match=field):
        decode(data)


@pytest.mark.parametrize(
    "change",
    [
        {"surprise": 1},
        {"kind": "gossip"},
        {"role": "router"},
        {"run": "xyz"},
        {"run": "0" * 17},
        {"number": -1},
        {"number": 1.5},
        {"number": True},
        {"number": 1 << 40},
        {"frontier_ns": 1 << 62},
        {"body_bytes": 1 << 40},
        {"second": 1 << 61},
        {"mesh": 5},
        {"mesh": "x" * 193},
        {"name": "a\tb"},
        {"address": "x" * 1_025},
        *({name: "\ud800"} for name in ("mesh", "path", "address", "name")),
        {"routes": {"\udc00": 1}},
        {"routes": {"x" * 513: 1}},
        {"multicast": 1},
        {"gaps": [[1, 2, 3]]},
        {"gaps": 7},
        {"gaps": [[1, 2, 3, 4]] * 1_025},
        {"gaps": [[1, 2, 3, -4]]},
        {"detached": [[1, "x"]]},
        {"unwatched": [[1]]},
        {"unwatched": [[1, 1 << 62]]},
        {"unwatched": [[1, 2]] * 1_025},
        {"clock": {"nobody": [1, 2]}},
        {"clock": {"0" * 16: [1]}},
        {"clock": {"0" * 16: [1.5, 2]}},
        {"clock": {"0" * 16: [1, -2]}},
        {"routes": {"a": -1}},
        {"routes": {f"r{i}": 1 for i in range(300)}},
        {"unsent": {"laziness": 1}},
        {"oldest_due_ns": "x"},
        {"link": "up"},
    ],
    ids=str,
)
def test_a_field_that_is_not_what_it_should_be_is_malformed(change: dict[str, Any]) -> None:
    """Every field is checked: the job trusts what it reads."""
    data = with_header(lambda told: {**told, **change}, key=key_of(next(iter(change))))
    assert reason(data) == "malformed"


@pytest.mark.parametrize("key", KEYS)
def test_a_field_in_the_other_object_is_unknown_there(key: bytes) -> None:
    """What is the same in all records of a run is told in one place only."""
    field = next(field for field in ("run", "number") if key_of(field) != key)
    with pytest.raises(BadRecord, match=f"unknown fields: {field}"):
        decode(with_header(lambda told: {**told, field: 1}, key=key))


def test_a_stream_with_half_a_header_is_malformed() -> None:
    """Either object alone tells nothing."""
    with pa.ipc.open_stream(encode(RECEIVED, ROWS)) as stream:
        table = stream.read_all()
    for key in KEYS:
        half = table.replace_schema_metadata({key: table.schema.metadata[key]})
        assert reason(as_stream(half)) == "malformed"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", ["", "[]", "null", "7", "{", '"x"', "[" * 100_000])
def test_a_header_that_is_no_json_object_is_malformed(text: str, key: bytes) -> None:
    """Nested without end included."""
    assert reason(with_header(text, key=key)) == "malformed"


def column(table: pa.Table, name: str, array: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, array)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("seq", pa.array([-11, 2, 3])),  # from 10, the lowest of them
        ("seq", pa.array([1 << 62, 2, 3])),
        ("seq", pa.array([(1 << 63) - 1, 2, 3])),
        ("seq", pa.array([1, None, 3])),
        ("seq", pa.array([1.0, 2.0, 3.0])),
        ("delay_ns", pa.array([START + 2, 2, 3])),  # intended before 1970
        ("delay_ns", pa.array([-(1 << 63), 2, 3])),
        ("service_ns", pa.array([-START - 2, 2, 3])),
        ("service_ns", pa.array([1 << 62, 2, 3])),
        ("service_ns", pa.array([(1 << 63) - 1, 2, 3])),
        ("sent_ns", pa.array([-1, 0, 0])),
        ("sent_ns", pa.array([0, 0, SECOND_NS])),
        ("sent_ns", pa.array([0, 0, -(1 << 63)])),
        ("sent_ns", pa.array([0, 0, SECOND_NS], pa.uint32())),
        ("sent_ns", pa.array([0, 0, 0], pa.int32())),
        ("ipdv_ns", pa.array([None, -(1 << 63), 0])),
        ("ipdv_ns", pa.array([None, 1 << 62, 0])),
        ("flags", pa.array([0, 0, 0], pa.int64())),
        ("flags", pa.array([0, None, 0], pa.uint8())),
    ],
    ids=lambda value: str(value).replace("\n", ""),
)
def test_rows_out_of_range_are_malformed(name: str, array: pa.Array) -> None:
    """Times of other seconds, numbers below 0 or near 2^63, nulls, other types."""
    with pa.ipc.open_stream(encode(RECEIVED, ROWS)) as stream:
        table = stream.read_all()
    assert reason(as_stream(column(table, name, array))) == "malformed"


@pytest.mark.parametrize(
    "runs_told",
    [
        [(0, 0, 0)],
        [(0, -1, 0)],
        [(-1, 1, 0)],
        [(0, 5, 0), (4, 5, 0)],
        [(5, 1, 0), (0, 1, 0)],
        [(0, (1 << 63) - 1, 0)],
        [((1 << 62) - 1, (1 << 62) - 1, 0)],
        [(0, 1, len(OUTCOMES))],
    ],
    ids=str,
)
def test_ledger_runs_that_cannot_be_are_malformed(runs_told: list[tuple[int, int, int]]) -> None:
    """Empty, negative, overlapping, out of order, huge, of no outcome."""
    first, length, outcome = zip(*runs_told, strict=True)
    rows = records.Ledger(
        np.asarray(first, np.int64), np.asarray(length, np.int64), np.asarray(outcome, np.uint8)
    )
    assert reason(encode(LEDGER, rows)) == "malformed"


def test_a_column_that_is_missing_is_malformed_and_others_are_left_out() -> None:
    """A later version may add one."""
    with pa.ipc.open_stream(encode(RECEIVED, ROWS)) as stream:
        table = stream.read_all()
    assert reason(as_stream(table.drop_columns(["flags"]))) == "malformed"
    more = table.append_column("colour", pa.array(["a", "b", "c"])).select([6, 5, 4, 3, 2, 1, 0])
    assert same(decode(as_stream(more)).received, ROWS)


def test_rows_in_several_batches_or_in_none_are_read() -> None:
    """Arrow may cut a table as it likes."""
    with pa.ipc.open_stream(encode(RECEIVED, ROWS)) as stream:
        table = stream.read_all()
    cut = pa.concat_tables([table.slice(0, 1), table.slice(1, 2)])
    assert same(decode(as_stream(cut)).received, ROWS)
    found = decode(as_stream(table.slice(0, 0))).received
    assert found is not None
    assert len(found.seq) == 0


def test_too_many_rows_or_bytes_are_oversized() -> None:
    """Whoever writes is told at once; whoever reads refuses."""
    many = [0] * (MAX_ROWS + 1)
    rows = received_rows(many, many, [START] * len(many), many, many, many)
    with pytest.raises(ValueError, match="split them"):
        encode(RECEIVED, rows)
    with pa.ipc.open_stream(encode(RECEIVED, ROWS)) as stream:
        table = stream.read_all()
    assert reason(as_stream(pa.concat_tables([table] * (MAX_ROWS // 3 + 1)))) == "oversized"
    assert reason(b"\0" * (records.MAX_BYTES + 1)) == "oversized"


def test_rows_that_do_not_fit_the_kind_are_refused() -> None:
    """By the writer, and where somebody wrote them all the same."""
    for kind, rows in (("received", RUNS), ("ledger", ROWS), ("alive", ROWS), ("received", None)):
        with pytest.raises(ValueError, match=kind):
            encode(RECEIVED._replace(kind=kind), rows)
    assert reason(with_header(lambda told: {**told, "kind": "alive"})) == "malformed"


@quick
@given(st.binary(max_size=300))
def test_any_bytes_are_a_bad_record_and_nothing_worse(data: bytes) -> None:
    """Anybody may write to a topic."""
    assert reason(data) == "malformed"


@quick
@given(st.sampled_from(sorted(WRITTEN)), st.integers(0, 1 << 32))
def test_damaged_bytes_are_a_bad_record_or_a_checked_one(kind: str, seed: int) -> None:
    """A flipped byte, a cut, a piece twice: no other error, and no row out of range."""
    rng = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    data = bytearray(encode(*WRITTEN[kind]))
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    try:
        found = decode(bytes(data))
    except BadRecord:
        return
    if found.received is not None and len(found.received.seq):
        assert int(found.received.seq.min()) >= 0
        start = found.header.second * SECOND_NS
        assert (
            start
            <= int(found.received.sent_ns.min())
            <= int(found.received.sent_ns.max())
            < start + SECOND_NS
        )


def test_flows_are_told_apart_by_mesh_and_address() -> None:
    """Also where one text ends and the other begins."""
    assert len({flow_hash("a", "bc"), flow_hash("ab", "c"), flow_hash("a", "bd")}) == 3
    assert flow_hash("prod", "inflight/east-west") == 0x0FD19B109B09CABD


def test_a_peer_is_of_the_record_and_not_of_the_run() -> None:
    """It may differ after a reconnect."""
    for peer in ("", "QDR.A", "Ü" * 192):
        told = header("alive", peer=peer)
        assert decode(encode(told)).header == told
    of_run = {record_header.encode(header("alive", peer=peer))[0] for peer in ("", "QDR.A", "QDR.B")}
    assert len(of_run) == 1
    for peer in ("x" * 193, "a\nb"):
        with pytest.raises(BadRecord, match="peer is not a text of at most 192 printable characters"):
            decode(encode(header("alive", peer=peer)))
