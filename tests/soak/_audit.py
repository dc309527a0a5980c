"""The audit of a soak, from the bytes of two topics, with none of the code that is judged.

Records are read as streaming/accounting.md describes them, with pyarrow alone; what became of each message
is worked out from them number by number, and compared with the final rows window by window.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

SECOND_NS: Final = 1_000_000_000
OUTCOMES: Final = ("presettled", "accepted", "rejected", "released", "modified", "unsettled")
REFUSED: Final = frozenset({"rejected", "released", "modified"})
CLASSES: Final = ("received", "refused", "lost", "unobserved")

Number = tuple[str, int]  # a stream and one of its numbers
Told = tuple[int, int, list[tuple[int, str]]]  # a ledger's revision, its place in the topic, numbers


@dataclass
class PathRecords:
    """What a path's records say: which numbers were sent in which second, and which arrived."""

    ledgers: dict[tuple[str, int], list[Told]] = field(default_factory=lambda: defaultdict(list))
    received: dict[Number, int] = field(default_factory=dict)  # the second it was sent in
    records: int = 0

    def sent(self) -> dict[Number, tuple[int, str | None]]:
        """Return second and last outcome of each number; the outcome is None if no ledger tells it."""
        found: dict[Number, tuple[int, str | None]] = {
            number: (second, None) for number, second in self.received.items()
        }
        for (stream, second), told in self.ledgers.items():
            for _, _, numbers in sorted(told, key=lambda each: each[:2]):
                for seq, outcome in numbers:
                    found[stream, seq] = second, outcome
        return found


@dataclass(frozen=True)
class Disturbed:
    """Spans in which faults of the network, or of receivers, may make messages go missing."""

    network: Sequence[tuple[int, int]]  # spans of ns
    receivers: Sequence[tuple[int, int]]


def read_samples(values: Iterable[bytes]) -> tuple[dict[str, PathRecords], int]:
    """Return what records say by path, and how many values were not records."""
    known: dict[str, PathRecords] = defaultdict(PathRecords)
    junk = 0
    for place, value in enumerate(values):
        try:
            with pa.ipc.open_stream(value) as stream:
                metadata = stream.schema.metadata
                header = json.loads(metadata[b"inflight.run"]) | json.loads(metadata[b"inflight"])
                columns = stream.read_all().to_pydict() if header["kind"] in {"received", "ledger"} else {}
            if header.get("warmup"):
                continue
            _enter(known[header["path"]], header, columns, place)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            junk += 1
    return dict(known), junk


def _enter(
    known: PathRecords, header: Mapping[str, Any], columns: Mapping[str, list[int]], place: int
) -> None:
    base = header.get("base", 0)
    known.records += 1
    if header["kind"] == "received":
        for seq in columns["seq"]:
            known.received.setdefault((header["stream"], base + seq), header["second"])
    elif header["kind"] == "ledger":
        ranges = zip(columns["first_seq"], columns["length"], columns["outcome"], strict=True)
        numbers = [
            (base + first + i, OUTCOMES[kind]) for first, length, kind in ranges for i in range(length)
        ]
        key = header.get("stream") or header["run"], header["second"]
        known.ledgers[key].append((header.get("revision", 0), place, numbers))


def newest_rows(values: Iterable[bytes]) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the newest revision of each window, by path and start."""
    found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for value in values:
        row = json.loads(value)
        rows, start = found[row["path"]], row["window_start_ns"]
        if start not in rows or rows[start]["revision"] < row["revision"]:
            rows[start] = row
    return found


def totals(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the sums of sent and of each class over all windows."""
    found = dict.fromkeys(("sent", *CLASSES), 0)
    for row in rows:
        found["sent"] += row["sent"]
        for name in CLASSES:
            found[name] += row["classes"][name]
    return found


def faults_of(
    path: str, known: PathRecords, rows: Mapping[int, Mapping[str, Any]], disturbed: Disturbed, settle_ns: int
) -> list[str]:
    """Return each statement of final rows that contradicts the records, or what was done."""
    if not rows:
        return [f"{path}: no final rows"]
    window_ns = next(iter(rows.values()))["window_ns"]
    expected = _expected(known, window_ns)
    found = [f"{path}: {n['sent']} messages of {at}, no row" for at, n in expected.items() if at not in rows]
    for start, row in sorted(rows.items()):
        said = {"sent": row["sent"], **row["classes"]}
        span = start, start + window_ns + settle_ns
        wrong = [
            f"{name} {said[name]}, by the records {count}"
            for name, count in expected[start].items()
            if said[name] != count
        ]
        if sum(row["classes"].values()) != row["sent"]:
            wrong.append(f"classes {row['classes']} are not {row['sent']}")
        if said["lost"] and not _meets(span, disturbed.network):
            wrong.append(f"{said['lost']} lost although the network was left alone")
        if said["unobserved"] and not _meets(span, disturbed.receivers):
            wrong.append(f"{said['unobserved']} unobserved although the receivers were left alone")
        where = f"{path}, window {start // SECOND_NS} ({', '.join(row['flags']) or 'no flags'})"
        found += [f"{where}: {text}" for text in wrong]
    return found


def _expected(known: PathRecords, window_ns: int) -> dict[int, dict[str, int]]:
    """Return by window what was sent, what arrived, and what was refused and did not arrive."""
    expected: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(("sent", *CLASSES[:2]), 0))
    for number, (second, outcome) in known.sent().items():
        counts = expected[second * SECOND_NS // window_ns * window_ns]
        counts["sent"] += 1
        if number in known.received:
            counts["received"] += 1
        elif outcome in REFUSED:
            counts["refused"] += 1
    return expected


def counters_differ(path: str, rows: Mapping[str, int], counters: Mapping[str, int]) -> list[str]:
    """Return where the exporter's counters, corrected by reclassifications, are not the sums of rows."""
    return [
        f"{path}: the exporter counts {counters.get(name, 0)} {name}, the rows {rows[name]}"
        for name in CLASSES
        if counters.get(name, 0) != rows[name]
    ]


def _meets(span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] < end and begin < span[1] for begin, end in spans)
