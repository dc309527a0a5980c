"""Compares what probes sent, by their ledgers, with what final rows say became of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from collectors.config.model import Kafka
from collectors.contract import record_codec, topics, window_rows
from collectors.contract.records import BadRecord, Record
from collectors.kafka import stored
from streaming.accounting import spans

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PathTotals:
    """One path: the messages sent by its ledgers, and the counts in the last revisions of its final rows."""

    ledger_sent: int
    sent: int
    classes: dict[str, int]
    duplicate: int

    @property
    def unaccounted(self) -> int:
        """Messages that no final row covers, or that no receiver watched for."""
        return abs(self.ledger_sent - self.sent) + self.classes["unobserved"]

    def as_dict(self) -> dict[str, int]:
        return {
            "ledger_sent": self.ledger_sent,
            "sent": self.sent,
            **self.classes,
            "duplicate": self.duplicate,
            "unaccounted": self.unaccounted,
        }


@dataclass(frozen=True, slots=True)
class Totals:
    """All paths, and the number of unusable records in both topics."""

    paths: dict[str, PathTotals]
    junk: int

    @property
    def complete(self) -> bool:
        """Whether final rows cover everything sent."""
        return all(totals.ledger_sent == totals.sent for totals in self.paths.values())


def read(bootstrap: str, prefix: str) -> Totals:
    """Return the totals of every path, from the two topics alone."""
    junk = Counter[str]()
    kafka = Kafka(servers=(bootstrap,), prefix=prefix)
    sent = numbers_sent(_each(stored.values(kafka, topics.SAMPLES), record_codec.decode, junk))
    final: dict[tuple[str, int], _Row] = {}
    for row in _each(stored.values(kafka, topics.WINDOWS), _row, junk):
        key = row.path, row.start_ns
        if key not in final or final[key].revision < row.revision:
            final[key] = row
    paths = sorted({*sent, *(key[0] for key in final)})
    return Totals({path: _path_totals(sent.get(path, 0), final, path) for path in paths}, junk.total())


def wait_complete(bootstrap: str, prefix: str, within_seconds: float) -> Totals:
    """Return the totals when final rows cover everything sent, or as they are when the time is over."""
    deadline = time.monotonic() + within_seconds
    while True:
        found = read(bootstrap, prefix)
        if found.complete or time.monotonic() > deadline:
            return found


def numbers_sent(records: Iterable[Record]) -> dict[str, int]:
    """Return how many numbers the ledgers of each path name; those in several revisions count once."""
    named: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for record in records:
        header = record.header
        if record.ledger is None or header.warmup:
            continue
        first = record.ledger.first_seq
        ranges = zip(first.tolist(), (first + record.ledger.length).tolist(), strict=True)
        named.setdefault((header.path, header.stream), []).extend(ranges)
    sent: dict[str, int] = {}
    for (path, _), all_ranges in named.items():
        count = sum(end - first for first, end in spans.union(all_ranges))
        sent[path] = sent.get(path, 0) + count
    return sent


class _Row(NamedTuple):
    """The fields of a final row that are counted here."""

    path: str
    start_ns: int
    revision: int
    sent: int
    duplicate: int
    classes: dict[str, int]


def _row(value: bytes) -> _Row:
    row = window_rows.decode_window(value)
    return _Row(
        str(row["path"]),
        int(row["window_start_ns"]),
        int(row["revision"]),
        int(row["sent"]),
        int(row["duplicate"]),
        {name: int(row["classes"][name]) for name in window_rows.CLASSES},
    )


def _each(values: Iterable[bytes], decode: Callable[[bytes], _T], junk: Counter[str]) -> Iterator[_T]:
    """Decode the values; count and leave out those that cannot be decoded."""
    for value in values:
        try:
            yield decode(value)
        except (BadRecord, ValueError, TypeError, LookupError, RecursionError):
            junk["records"] += 1


def _path_totals(ledger_sent: int, final: Mapping[tuple[str, int], _Row], path: str) -> PathTotals:
    own = [row for row in final.values() if row.path == path]
    classes: dict[str, int] = {name: sum(row.classes[name] for row in own) for name in window_rows.CLASSES}
    sent, duplicate = sum(row.sent for row in own), sum(row.duplicate for row in own)
    return PathTotals(ledger_sent, sent, classes, duplicate)
