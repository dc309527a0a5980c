"""What Kafka says of the job's topics, asked with the job's own client and login."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from collectors.kafka import topic_settings
from collectors.kafka.connect import connect
from streaming.spark.kafka_options import client_settings
from streaming.spark.settings import KafkaAccess

_log: Final = logging.getLogger("inflight.stream")
_WAIT_MS: Final = 5_000


class TopicError(Exception):
    """A topic is missing, or Kafka does not answer now."""


def partitions(spark: SparkSession, access: Mapping[str, str], topic: str, others: Iterable[str] = ()) -> int:
    """Returns how many partitions the topic has. Raises TopicError also where one of the others is missing.

    `access` are Spark's options for Kafka.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 -- the only way to the JVM's Kafka client from Python
    options = jvm.java.util.HashMap()
    for name, value in access.items():
        options.put(name.removeprefix("kafka."), value)
    options.put("default.api.timeout.ms", str(_WAIT_MS))
    options.put("request.timeout.ms", str(_WAIT_MS))
    asked = topic
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(options)
        try:
            told = admin.describeTopics(jvm.java.util.List.of(topic, *others)).topicNameValues()
            found = told.get(topic).get()
            for asked in others:
                told.get(asked).get()
            return int(found.partitions().size())
        finally:
            admin.close(jvm.java.time.Duration.ofSeconds(1))
    except Py4JJavaError as error:
        raise TopicError(_said(error.java_exception, asked)) from None


def tell_of_settings(access: KafkaAccess, topics: Iterable[str]) -> None:
    """Log which topics are not set as Inflight makes them; the job runs on them all the same."""
    try:
        admin = connect(
            KafkaAdminClient,
            **client_settings(access),
            request_timeout_ms=_WAIT_MS,
            bootstrap_timeout_ms=_WAIT_MS,
        )
        try:
            found = topic_settings.differing(admin, topics)
        finally:
            admin.close()
    except (KafkaError, OSError, ValueError) as error:
        _log.info("Kafka does not tell of its topics' settings: %s", error)
        return
    for name, text in found.items():
        mend = topic_settings.commands([name])
        _log.warning("the topic %s has %s: %s; what mends it: %s", name, text, topic_settings.WHY, mend)


def _said(error: Any, topic: str) -> str:
    cause = error.getCause() or error
    kind = cause.getClass().getSimpleName()
    if kind == "UnknownTopicOrPartitionException":
        return f"there is no topic {topic}; `inflight probe --create-topics` makes it"
    if kind == "TopicAuthorizationException":
        return f"the job's user has no right on the topic {topic}; deploy/rights/kafka-acls.sh gives it"
    return (
        f"Kafka does not tell of the topic {topic} ({kind}: {str(cause.getMessage())[:300]}); is it there, "
        "at the config's `kafka.servers`?"
    )
