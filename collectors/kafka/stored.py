"""What a topic holds, read once up to its present end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from kafka import TopicPartition

from collectors.config.model import Kafka
from collectors.contract.topics import Topic
from collectors.kafka import batches
from collectors.kafka.client import client_kwargs
from collectors.kafka.connect import connect

_POLL_MS: Final = 500
_REQUEST_MS: Final = 15_000
_SILENT_SECONDS: Final = 30.0


def values(kafka: Kafka, topic: Topic, from_ms: int = 0, to_ms: int | None = None) -> Iterator[bytes]:
    """Yield the values of records that Kafka took in this time, up to those that are there now.

    Raises KafkaError or OSError where it cannot be read, KafkaSetupError and SecretError as `client_kwargs`.
    """
    consumer = connect(
        batches.BoundedConsumer,
        **client_kwargs(kafka),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
        fetch_max_bytes=8 << 20,
        fetch_max_wait_ms=_POLL_MS,
        bootstrap_timeout_ms=_REQUEST_MS,
        request_timeout_ms=_REQUEST_MS,
    )
    try:
        name = topic.name(kafka.prefix)
        for number in sorted(consumer.partitions_for_topic(name) or ()):
            yield from _partition(consumer, TopicPartition(name, number), from_ms, to_ms)
    finally:
        consumer.close()


def _partition(consumer: Any, partition: Any, from_ms: int, to_ms: int | None) -> Iterator[bytes]:
    consumer.assign([partition])
    first, end = (
        consumer.beginning_offsets([partition])[partition],
        consumer.end_offsets([partition])[partition],
    )
    consumer.seek(partition, _offset(consumer, partition, (first, end), from_ms))
    deadline = time.monotonic() + _SILENT_SECONDS
    while consumer.position(partition) < end:
        for record in _poll(consumer, partition, 500):
            deadline = time.monotonic() + _SILENT_SECONDS
            if record.offset >= end or (to_ms is not None and record.timestamp > to_ms):
                return
            if record.value is not None:
                yield bytes(record.value)
        if time.monotonic() > deadline:
            raise OSError(f"no record of {partition.topic} came within {_SILENT_SECONDS:g} s")


def _offset(consumer: Any, partition: Any, between: tuple[int, int], from_ms: int) -> int:
    """Return where records of this time begin, by halves.

    Kafka is not asked for it: to tell that, it unpacks batches in its own memory, without a bound.
    """
    low, high = between
    while from_ms > 0 and low < high:
        middle = (low + high) // 2
        consumer.seek(partition, middle)
        deadline = time.monotonic() + _SILENT_SECONDS
        while not (found := _poll(consumer, partition, 1)):
            if consumer.position(partition) >= high or time.monotonic() > deadline:
                break
        if not found or found[0].timestamp >= from_ms:
            high = middle
        else:
            low = found[0].offset + 1
    return low


def _poll(consumer: Any, partition: Any, most: int) -> list[Any]:
    found: list[Any] = consumer.poll(timeout_ms=_POLL_MS, max_records=most).get(partition, [])
    return found
