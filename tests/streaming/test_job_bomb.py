"""Batches in Kafka that unpack to more than the job has memory: it gets past them by itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import bombs
import pytest
from helpers import wait_until
from spark_job import RULES, letters, produce, window_rows
from stream_process import Stream
from synthetic import Flow

from collectors.topics import SAMPLES
from deploy.embedded.kafka import Kafka
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
    stream = Stream(config, tmp_path / "checkpoint", tmp_path / "log", "--lanes", "2")
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
    """In partitions of both lanes: one record of 900 MB, and 300 of 1 MB; the rows are those without them."""
    topic = SAMPLES.name(prefix)
    produce(kafka.bootstrap, topic, records(0, SECONDS // 2))
    put = {
        0: bombs.batch(bombs.ZSTD, [900 * MIB]),
        3: bombs.batch(bombs.GZIP, [300 * MIB]),
        7: bombs.batch(bombs.ZSTD, [MIB] * 1200),
    }
    for partition, batch in put.items():
        assert bombs.produce(kafka.bootstrap, topic, partition, batch) == 0
    produce(kafka.bootstrap, topic, records(SECONDS // 2, SECONDS))
    wanted = rows_of(records(0, SECONDS))
    stream.start()
    wait_until(
        lambda: len(window_rows(kafka.bootstrap, f"{prefix}.windows")[0]) == len(wanted),
        300,
        "all windows",
        every_seconds=1,
    )
    assert window_rows(kafka.bootstrap, f"{prefix}.windows")[0] == wanted
    told = letters(kafka.bootstrap, f"{prefix}.dead-letters")
    assert {(letter["reason"], letter["partition"]) for letter in told} == {("inflated", p) for p in put}
    log = (tmp_path / "log").read_text()
    assert "it was out of memory" in log
    assert stream.alive
    stream.stop()
