"""Helpers for tests of the Spark job: filling topics, reading them, expected rows."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers import wait_until
from kafka import KafkaProducer
from kafka_topics import consume
from pyspark.sql import SparkSession

from collectors.config.paths import Rules
from collectors.contract import window_rows as rows
from collectors.contract.records import SECOND_NS
from deploy.jvm import artifacts
from streaming.accounting import Accountant
from streaming.spark import job, service
from streaming.spark.settings import JobSettings

RULES = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 900 * SECOND_NS)


def produce(bootstrap: str, topic: str, records: Iterable[tuple[str, bytes]]) -> int:
    """Send records by path, as the sink does; return how many."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, compression_type="lz4", linger_ms=20, batch_size=1 << 20, acks="all"
    )
    try:
        sent = [producer.send(topic, key=path.encode(), value=value) for path, value in records]
        producer.flush()
        for each in sent:
            each.get(timeout=1)  # raises if the record did not get there
        return len(sent)
    finally:
        producer.close()


def expected(bootstrap: str, topic: str, rules: Rules = RULES) -> list[bytes]:
    """Return the final rows of the accounting in process over the same topic."""
    by_partition: dict[int, Accountant] = {}
    found = []
    for message in sorted(consume(bootstrap, topic), key=lambda m: (m.partition, m.offset)):
        accountant = by_partition.setdefault(message.partition, Accountant(lambda _: rules))
        fed = accountant.feed(message.value, message.timestamp * 1_000_000)
        found += fed.rows
    return sorted(found)


def window_rows(bootstrap: str, topic: str) -> tuple[list[bytes], int]:
    """Return the rows in the windows topic, each identity once, and the number of repeats.

    Two rows with one identity that differ are a failure.
    """
    by_identity: dict[Any, bytes] = {}
    repeats = 0
    for message in consume(bootstrap, topic):
        row = rows.decode_window(message.value)
        assert message.key.decode() == row["path"]
        before = by_identity.setdefault(rows.identity(row), message.value)
        assert before == message.value
        repeats += before is not message.value
    return sorted(by_identity.values()), repeats


def batches(checkpoint: Path) -> int:
    """Return how many batches all lanes have committed."""
    lanes = [folder.glob("[0-9]*") for folder in checkpoint.glob("accounting-*/commits")]
    return sum(max((int(file.name) for file in lane), default=-1) + 1 for lane in lanes)


def letters(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    """Return the dead letters in the topic."""
    return [json.loads(message.value) for message in consume(bootstrap, topic)]


@contextmanager
def quick_session() -> Iterator[SparkSession]:
    """Return a local Spark session with the job's settings."""
    session = job.session(artifacts.ensure().jars("spark"), local_heap="768m")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def running(
    spark: SparkSession, settings: JobSettings, queries: service.MakeQueries = job.queries
) -> Iterator[str]:
    """The job as `inflight stream` runs it; the URL it serves."""
    stop = threading.Event()
    urls: list[str] = []
    errors: list[BaseException] = []

    def serve() -> None:
        try:
            service.serve(spark, settings, stop, urls.append, queries)
        except BaseException as error:  # noqa: BLE001 -- told to the test
            errors.append(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield wait_until(lambda: urls, 10, "the job's address")[0]
    finally:
        stop.set()
        thread.join(30)
    assert not errors
    assert not thread.is_alive()


def get(url: str) -> str:
    """The body of the answer, which has to be a good one."""
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 -- our own server
        return str(answer.read().decode())


def metric(url: str, line: str) -> float:
    """The value of the series that this line begins with."""
    for text in get(f"{url}/metrics").splitlines():
        if text.startswith(line):
            return float(text.rsplit(" ", 1)[1])
    return 0.0


def not_ready(url: str) -> str:
    """Why it is not."""
    try:
        get(f"{url}/-/ready")
    except urllib.error.HTTPError as error:
        return error.read().decode()
    return ""
