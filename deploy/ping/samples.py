"""Every message of a ping as Parquet."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from collectors.contract.records import OUTCOMES, Record
from deploy.ping.results import PingResults


def write_samples(file: Path, results: PingResults) -> None:
    """Write a row for each arrival, and one with its outcome for each message that did not arrive."""
    parts = [_arrived(record, results) for record in results.samples]
    seen: dict[str, set[int]] = defaultdict(set)
    for record in results.samples:
        if record.received is not None:
            seen[record.header.stream].update(record.received.seq.tolist())
    for (stream, _), ledger in results.ledgers.items():
        parts += [_missing(record, seen[stream]) for record in ledger]
    table = pa.concat_tables([_SCHEMA.empty_table(), *parts])
    with file.open("wb") as out:  # given a path, it removes what is there when it fails, a device too
        pq.write_table(table.sort_by([("stream", "ascending"), ("seq", "ascending")]), out)


_SCHEMA: Final = pa.schema(
    [
        ("stream", pa.string()),
        ("seq", pa.int64()),
        ("second", pa.int64()),  # of sending
        ("intended_ns", pa.int64()),
        ("sent_ns", pa.int64()),
        ("received_ns", pa.int64()),  # null: did not arrive
        ("ipdv_ns", pa.int64()),
        ("flags", pa.uint8()),
        ("outcome", pa.string()),  # null: no ledger tells
    ]
)


def _arrived(record: Record, results: PingResults) -> Any:
    rows, header = record.received, record.header
    if rows is None:
        return _SCHEMA.empty_table()
    outcomes: dict[int, str] = {}
    for part in results.ledgers.get((header.stream, header.second), []):
        outcomes |= _outcomes(part)
    columns = {
        "stream": [header.stream] * rows.size,
        "seq": rows.seq,
        "second": np.full(rows.size, header.second),
        "intended_ns": rows.intended_ns,
        "sent_ns": rows.sent_ns,
        "received_ns": rows.received_ns,
        "ipdv_ns": pa.array(rows.ipdv_ns, pa.int64(), mask=~rows.has_ipdv),
        "flags": rows.flags,
        "outcome": [outcomes.get(seq) for seq in rows.seq.tolist()],
    }
    return pa.table(columns, schema=_SCHEMA)


def _missing(record: Record, seen: set[int]) -> Any:
    found = [(seq, outcome) for seq, outcome in _outcomes(record).items() if seq not in seen]
    nothing = [None] * len(found)
    columns = {
        "stream": [record.header.stream] * len(found),
        "seq": [seq for seq, _ in found],
        "second": [record.header.second] * len(found),
        **dict.fromkeys(("intended_ns", "sent_ns", "received_ns", "ipdv_ns", "flags"), nothing),
        "outcome": [outcome for _, outcome in found],
    }
    return pa.table(columns, schema=_SCHEMA)


def _outcomes(record: Record) -> dict[int, str]:
    if record.ledger is None:
        return {}
    ledger = record.ledger
    return {
        seq: OUTCOMES[outcome]
        for first, length, outcome in zip(
            ledger.first_seq.tolist(), ledger.length.tolist(), ledger.outcome.tolist(), strict=True
        )
        for seq in range(first, first + length)
    }
