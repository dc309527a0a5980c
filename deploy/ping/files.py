"""What a ping writes for other programs: HdrHistogram log, rates as CSV, every message as Parquet."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from collectors.records import OUTCOMES, Record
from deploy.ping.tally import Tally
from streaming.rows import WindowRow

# Times in these logs are in seconds, and the maximum in ms where values are in ns: the viewers' convention.
_HDR_UNIT_NS: Final = 1_000_000


def write_hdr_log(file: Path, rows: list[WindowRow]) -> None:
    """The standard log, version 1.3; the hdrhistogram package's writer knows no tags."""
    start = min((row["window_start_ns"] for row in rows), default=0)
    began = datetime.fromtimestamp(start / 1e9, UTC)
    lines = [
        f"#[Logged with inflight {version('inflight-monitor')}]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start / 1e9:.3f} (seconds since epoch), {began.isoformat()}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for row in rows:
        for tag, latency in (("response", row["response"]), ("service", row["service"])):
            if latency is not None:
                begin, length = (row["window_start_ns"] - start) / 1e9, row["window_ns"] / 1e9
                longest = latency["max_ns"] / _HDR_UNIT_NS
                lines.append(f"Tag={tag},{begin:.3f},{length:.3f},{longest:.3f},{latency['hdr']}")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")


def write_rate_log(file: Path, tally: Tally) -> None:
    """A line a second: due and sent by the sender's books, received by the time of arrival."""
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for (_, second), record in tally.ledgers.items():
        found[second][0] += record.header.due
        found[second][1] += int(record.ledger.length.sum()) if record.ledger is not None else 0
        found[second][3] += sum(record.header.unsent.values())
    for second, count in tally.received_by_second.items():
        found[second][2] += count
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(("second", "due", "sent", "received", "unsent"))
        writer.writerows((second, *found[second]) for second in sorted(found))


def write_samples(file: Path, tally: Tally) -> None:
    """A row for each arrival, and one for each message that did not arrive, with its outcome."""
    parts = [_arrived(record, tally) for record in tally.samples]
    seen: dict[str, set[int]] = defaultdict(set)
    for record in tally.samples:
        if record.received is not None:
            seen[record.header.stream].update(record.received.seq.tolist())
    parts += [_missing(record, seen[stream]) for (stream, _), record in tally.ledgers.items()]
    table = pa.concat_tables([_SCHEMA.empty_table(), *parts])
    pq.write_table(table.sort_by([("stream", "ascending"), ("seq", "ascending")]), file)


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


def _arrived(record: Record, tally: Tally) -> Any:
    rows, header = record.received, record.header
    if rows is None:
        return _SCHEMA.empty_table()
    outcomes = _outcomes(tally.ledgers.get((header.stream, header.second)))
    columns = {
        "stream": [header.stream] * len(rows.seq),
        "seq": rows.seq,
        "second": np.full(len(rows.seq), header.second),
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


def _outcomes(record: Record | None) -> dict[int, str]:
    if record is None or record.ledger is None:
        return {}
    ledger = record.ledger
    return {
        seq: OUTCOMES[outcome]
        for first, length, outcome in zip(
            ledger.first_seq.tolist(), ledger.length.tolist(), ledger.outcome.tolist(), strict=True
        )
        for seq in range(first, first + length)
    }
