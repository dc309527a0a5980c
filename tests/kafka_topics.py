"""What Kafka holds, whole however slow the machine is: `from kafka_topics import consume`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka import TopicPartition

from collectors.kafka.batches import BoundedConsumer


def consume(bootstrap: str, *topics: str, **client: Any) -> Iterator[Any]:
    """Return all that is in the topics now, each partition in its order; `client` is how to connect."""
    consumer = BoundedConsumer(
        **{"bootstrap_servers": bootstrap, "auto_offset_reset": "earliest", "group_id": None} | client
    )
    try:
        parts = [
            TopicPartition(topic, number)
            for topic in topics
            for number in sorted(consumer.partitions_for_topic(topic) or ())
        ]
        consumer.assign(parts)
        ends = consumer.end_offsets(parts)
        left = {part for part in parts if ends[part] > consumer.position(part)}
        while left:
            for batch in consumer.poll(timeout_ms=500).values():
                yield from batch
            left = {part for part in left if consumer.position(part) < ends[part]}
    finally:
        consumer.close()
