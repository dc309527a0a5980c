"""Batches in Kafka that unpack to more than the job has memory: it gets past them by itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bombs
import pytest
from helpers import wait_until
from kafka_topics import consume
from spark_job import RULES, letters, produce
from stream_process import Stream
from synthetic import Flow

from collectors.contract.topics import DEAD_LETTERS, SAMPLES, WINDOWS
from collectors.kafka.batches import Unreadable
from deploy.embedded.programs.kafka import Kafka
from streaming.accounting import Accountant

pytestmark = pytest.mark.e2e

FLOWS = [Flow(f"path-{number}", 10, lose_every=4 + number) for number in range(6)]
SECONDS = 40
MIB = 1 << 20


@pytest.fixture
def prefix(kafka: Kafka) -> str:
    made = f"bomb-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(made)
    return made


@pytest.fixture
def stream(kafka: Kafka, prefix: str, tmp_path: Path) -> Iterator[Stream]:
    config = tmp_path / "inflight.yaml"
    config.write_text(
        f"version: 1\nsite: test\nkafka: {{servers: ['{kafka.bootstrap}'], prefix: {prefix}}}\n"
        f"state: {tmp_path / 'state'}\n"
    )
    stream = Stream(
        config,
        tmp_path / "checkpoint",
        tmp_path / "log",
        "--lanes",
        "2",
        "--archive",
        str(tmp_path / "archive"),
    )
    yield stream
    if stream.alive:
        stream.kill()


def records(first: int, end: int) -> list[tuple[str, bytes]]:
    """Of all flows, second by second."""
    return [(flow.path, value) for at in range(first, end) for flow in FLOWS for value in flow.second(at)]


def rows_of(all_records: list[tuple[str, bytes]]) -> list[bytes]:
    """What accounting in process makes of them."""
    accountant = Accountant(lambda _: RULES)
    return sorted(row for _, value in all_records for row in accountant.feed(value, time.time_ns()).rows)


def test_the_job_gets_past_what_it_cannot_hold(
    kafka: Kafka, prefix: str, stream: Stream, tmp_path: Path
) -> None:
    """In partitions of both lanes, and among the rows that are archived; while it runs, and at its start.

    The rows are those without them, each batch is told once or, after a death, once more, and the process
    is the one that was started.
    """
    topic, windows = SAMPLES.name(prefix), WINDOWS.name(prefix)
    put = {
        (topic, 0): bombs.batch(bombs.ZSTD, [900 * MIB]),
        (topic, 3): bombs.batch(bombs.GZIP, [300 * MIB]),
        (topic, 7): bombs.batch(bombs.ZSTD, [MIB] * 1200),
        (windows, 5): bombs.batch(bombs.ZSTD, [900 * MIB]),
    }
    produce(kafka.bootstrap, topic, records(0, SECONDS // 2))
    for (name, partition), batch in put.items():
        assert bombs.produce(kafka.bootstrap, name, partition, batch) == 0
    produce(kafka.bootstrap, topic, records(SECONDS // 2, SECONDS))
    stream.start()
    wait_for(rows_of(records(0, SECONDS)), kafka.bootstrap, windows)
    for partition in (3, 8):
        assert bombs.produce(kafka.bootstrap, topic, partition, bombs.batch(bombs.ZSTD, [900 * MIB])) == 0
        put[topic, partition] = b""
    produce(kafka.bootstrap, topic, records(SECONDS, 2 * SECONDS))
    wait_for(rows_of(records(0, 2 * SECONDS)), kafka.bootstrap, windows)
    wait_until(
        lambda: {(one["detail"].split(",")[0], one["partition"]) for one in told(kafka, prefix)} == {*put},
        120,
        "every batch to be told",
        every_seconds=1,
    )
    assert {one["reason"] for one in told(kafka, prefix)} == {"inflated"}
    assert "was out of memory" in (tmp_path / "log").read_text()
    wait_until(lambda: [*(tmp_path / "archive").rglob("*.parquet")], 120, "archived rows")
    assert stream.alive
    stream.stop()


def told(kafka: Kafka, prefix: str) -> list[dict[str, Any]]:
    return letters(kafka.bootstrap, DEAD_LETTERS.name(prefix))


def wait_for(wanted: list[bytes], bootstrap: str, topic: str) -> None:
    """Until these rows are there, and no others."""
    wait_until(lambda: final_rows(bootstrap, topic) == wanted, 240, f"{len(wanted)} rows", every_seconds=1)


def final_rows(bootstrap: str, topic: str) -> list[bytes]:
    """Each once; repeats that differ are two."""
    values = {message.value for message in consume(bootstrap, topic)}
    return sorted(value for value in values if not isinstance(value, Unreadable))
