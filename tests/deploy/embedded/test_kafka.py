"""The embedded Kafka: a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bombs
import pytest
from helpers import wait_until
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient
from kafka.errors import MessageSizeTooLargeError

from collectors.contract.topics import SAMPLES
from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e


def test_topics_have_the_settings_of_the_contract(kafka: Kafka) -> None:
    """Each topic has its partitions and its retention; making them again changes nothing."""
    for _ in range(2):
        kafka.make_topics("settings")
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    try:
        made = {t["name"]: len(t["partitions"]) for t in admin.describe_topics() if "settings." in t["name"]}
        configs = admin.describe_configs([ConfigResource("topic", "settings.windows")])
    finally:
        admin.close()
    assert made == {
        "settings.samples": 12,
        "settings.router": 12,
        "settings.broker": 12,
        "settings.windows": 12,
        "settings.live": 12,
        "settings.attribution": 12,
        "settings.events": 1,
        "settings.dead-letters": 1,
    }
    settings = configs["topic"]["settings.windows"]
    assert settings["retention.ms"]["value"] == "604800000"  # 7 days
    assert settings["message.timestamp.type"]["value"] == "LogAppendTime"
    assert settings["compression.type"]["value"] == "producer"  # the broker unpacks nothing in its memory
    assert settings["cleanup.policy"]["value"] == "delete"  # for this, either
    assert settings["max.message.bytes"]["value"] == "1048588"


def test_the_broker_bears_a_batch_that_unpacks_to_gigabytes(kafka: Kafka) -> None:
    """On a topic that we made: it takes it as it is, with a heap that does not hold a part of it."""
    kafka.make_topics("heavy", [SAMPLES])
    for batch in (bombs.batch(bombs.ZSTD, [1900 << 20]), bombs.batch(bombs.ZSTD, [1 << 20] * 4000)):
        assert bombs.produce(kafka.bootstrap, "heavy.samples", 0, batch) == 0
    two_mb = bombs.batch(0, [2 << 20])
    assert bombs.produce(kafka.bootstrap, "heavy.samples", 0, two_mb) == MessageSizeTooLargeError.errno
    assert kafka.alive


def test_appended_records_carry_the_time_of_the_log(kafka: Kafka) -> None:
    """The producer's own timestamp is replaced: time in the data is never Kafka's time."""
    kafka.make_topics("times", [SAMPLES])
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    try:
        sent = producer.send("times.samples", b"x", timestamp_ms=1_000).get(timeout=20)
    finally:
        producer.close()
    assert sent.timestamp > 1_700_000_000_000


def test_records_survive_a_crash(tmp_path: Path) -> None:
    """After kill -9 the broker comes back at the same address with its data."""
    with Kafka.alone(tmp_path) as kafka:
        address = kafka.bootstrap
        kafka.make_topics("inflight", [SAMPLES])
        _append(address, b"first")
        kafka.kill()
        assert not kafka.alive
        kafka.start()
        _append(address, b"second")
        assert kafka.bootstrap == address
        assert _read(address) == [b"first", b"second"]


def _append(bootstrap: str, value: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    try:
        producer.send("inflight.samples", value, partition=0).get(timeout=30)
    finally:
        producer.close()


def _read(bootstrap: str) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    partition = TopicPartition("inflight.samples", 0)
    values: list[Any] = []
    try:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]

        def all_read() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                values.extend(r.value for r in records)
            return consumer.position(partition) >= end

        wait_until(all_read, 20, f"offset {end}")
    finally:
        consumer.close()
    return values
