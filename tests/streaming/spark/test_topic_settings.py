"""What the job tells of topics that are not set as Inflight makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from administrator import set_topic
from helpers import free_port, wait_until

from collectors.contract.topics import SAMPLES, WINDOWS
from streaming.spark.samples_topic import tell_of_settings
from streaming.spark.settings import KafkaAccess

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
PREFIX = "settings"


def test_the_log_has_the_command_that_mends_a_topic(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    """Of those that differ, and of no others."""
    kafka.make_topics(PREFIX, [SAMPLES, WINDOWS])
    names = [SAMPLES.name(PREFIX), WINDOWS.name(PREFIX)]
    access = KafkaAccess(servers=(kafka.bootstrap,))
    tell_of_settings(access, names)
    assert caplog.messages == []
    set_topic(kafka, names[1], {"compression.type": "gzip", "message.timestamp.type": "LogAppendTime"})

    def told() -> list[str]:
        caplog.clear()
        tell_of_settings(access, names)
        return caplog.messages

    (text,) = wait_until(told, 30, "a warning")
    assert text.startswith("the topic settings.windows has compression.type=gzip: ")
    command = (
        "--alter --entity-type topics --entity-name settings.windows --add-config cleanup.policy=delete,"
    )
    assert command in text


def test_a_kafka_that_is_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """The queries tell of that themselves."""
    caplog.set_level("INFO", "inflight.stream")
    tell_of_settings(KafkaAccess(servers=(f"127.0.0.1:{free_port()}",)), ["a.samples"])
    (text,) = [message for message in caplog.messages if "settings" in message]
    assert text.startswith("Kafka does not tell of its topics' settings: ")
