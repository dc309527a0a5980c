"""What the probes wrote down, against what became of it in final rows: the demonstration's own audit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from collectors import record_codec, topics
from streaming import rows
from streaming.accounting import spans

_POLL_MS = 500


@dataclass(frozen=True, slots=True)
class PathBooks:
    """One path: what its ledgers say was sent, and the classes of its final rows as last revised."""

    ledger_sent: int
    sent: int
    received: int
    refused: int
    lost: int
    unobserved: int
    duplicate: int

    @property
    def unaccounted(self) -> int:
        """Messages sent that no final row covers, or that nobody watched for."""
        return abs(self.ledger_sent - self.sent) + self.unobserved

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "unaccounted": self.unaccounted}


def read(bootstrap: str, prefix: str) -> dict[str, PathBooks]:
    """The books of every path, from the two topics alone: no part of the pipeline is asked."""
    sent = numbers_sent(_values(bootstrap, topics.SAMPLES.name(prefix)))
    final: dict[tuple[str, int], rows.WindowRow] = {}
    for value in _values(bootstrap, topics.WINDOWS.name(prefix)):
        row = rows.decode_window(value)
        key = row["path"], row["window_start_ns"]
        if key not in final or final[key]["revision"] < row["revision"]:
            final[key] = row
    return {
        path: _books(sent.get(path, 0), final, path) for path in sorted({*sent, *(key[0] for key in final)})
    }


def wait_balanced(bootstrap: str, prefix: str, within_seconds: float) -> dict[str, PathBooks]:
    """The books once everything sent is in final rows, or as they stand when the time is over."""
    deadline = time.monotonic() + within_seconds
    while True:
        found = read(bootstrap, prefix)
        if all(book.ledger_sent == book.sent for book in found.values()) or time.monotonic() > deadline:
            return found


def numbers_sent(records: Iterable[bytes]) -> dict[str, int]:
    """How many numbers each path's ledgers name; a second in several revisions, or in parts, counts once."""
    named: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for value in records:
        record = record_codec.decode(value)
        header = record.header
        if record.ledger is None or header.warmup:
            continue
        first = record.ledger.first_seq
        runs = zip(first.tolist(), (first + record.ledger.length).tolist(), strict=True)
        named.setdefault((header.path, header.stream), []).extend(runs)
    sent: dict[str, int] = {}
    for (path, _), runs_of_all in named.items():
        count = sum(end - first for first, end in spans.union(runs_of_all))
        sent[path] = sent.get(path, 0) + count
    return sent


def _books(ledger_sent: int, final: dict[tuple[str, int], rows.WindowRow], path: str) -> PathBooks:
    own = [row for (name, _), row in final.items() if name == path]
    classes = {name: sum(row["classes"][name] for row in own) for name in rows.CLASSES}
    sent = sum(row["sent"] for row in own)
    return PathBooks(ledger_sent, sent, **classes, duplicate=sum(row["duplicate"] for row in own))


def _values(bootstrap: str, topic: str) -> Iterator[bytes]:
    """All values that stand in the topic now."""
    consumer: Any = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, group_id=None)
    try:
        parts = [
            TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())
        ]
        ends = consumer.end_offsets(parts)
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        while any(consumer.position(part) < ends[part] for part in parts):
            for batch in consumer.poll(timeout_ms=_POLL_MS).values():
                yield from (message.value for message in batch)
    finally:
        consumer.close()
