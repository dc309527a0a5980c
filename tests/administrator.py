"""Changes settings of Kafka topics: `from administrator import set_topic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.admin import ConfigResource, KafkaAdminClient

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka


def set_topic(kafka: Kafka, topic: str, settings: dict[str, str]) -> None:
    """Give a topic these settings."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.alter_configs([ConfigResource("topic", topic, configs=settings)])
    admin.close()
