"""Makes kafka-python's settings from the config, writes single records, and creates topics."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, TopicAlreadyExistsError

from collectors.config.model import Kafka
from collectors.config.secrets import read_password
from collectors.contract.topics import ALL, Topic
from collectors.kafka import causes

_REQUEST_MS: Final = 15_000


class KafkaSetupError(Exception):
    """Kafka cannot be used as the config says."""


def client_kwargs(config: Kafka) -> dict[str, Any]:
    """Returns what every client of kafka-python is made with; SecretError when a password cannot be read."""
    causes.listen()
    tls, sasl = config.tls, config.sasl
    kwargs: dict[str, Any] = {
        "bootstrap_servers": list(config.servers),
        "security_protocol": ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT"),
    }
    if tls is not None:
        if tls.verify == "none":
            raise KafkaSetupError(
                "kafka.tls.verify: the Kafka client always checks the certificate; use `name` or `chain`"
            )
        kwargs["ssl_check_hostname"] = tls.verify == "name"
        files = {"ssl_cafile": tls.ca, "ssl_certfile": tls.cert, "ssl_keyfile": tls.key}
        kwargs |= {name: str(file) for name, file in files.items() if file is not None}
    if sasl is not None:
        if sasl.mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
            known = "PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512"
            raise KafkaSetupError(f"kafka.sasl.mechanism: Kafka knows {known}, not {sasl.mechanism}")
        kwargs["sasl_mechanism"] = sasl.mechanism
        kwargs["sasl_plain_username"] = sasl.user
        kwargs["sasl_plain_password"] = read_password(sasl.password_file) if sasl.password_file else None
    return kwargs


def put(config: Kafka, topic: Topic, value: bytes) -> None:
    """Writes one record; returns when Kafka has it, and raises KafkaSetupError when that fails."""
    name, began = topic.name(config.prefix), time.monotonic()
    try:
        producer = KafkaProducer(
            **client_kwargs(config), bootstrap_timeout_ms=_REQUEST_MS, max_block_ms=_REQUEST_MS
        )
        try:
            producer.send(name, value).get(timeout=_REQUEST_MS / 1e3)
        finally:
            producer.close(timeout=1)
    except KafkaError as error:
        servers = ", ".join(config.servers)
        why = causes.explain(error, began)
        raise KafkaSetupError(f"Kafka at {servers} did not take a record on {name}: {why}") from None


def create_topics(config: Kafka, topics: Iterable[Topic] = ALL) -> list[str]:
    """Creates missing topics, with the cluster's default replication; returns the names of those it made."""
    began = time.monotonic()
    try:
        admin = KafkaAdminClient(
            **client_kwargs(config), request_timeout_ms=_REQUEST_MS, bootstrap_timeout_ms=_REQUEST_MS
        )
    except KafkaError as error:
        servers = ", ".join(config.servers)
        raise KafkaSetupError(
            f"Kafka at {servers} cannot be reached: {causes.explain(error, began)}"
        ) from None
    try:
        there = set(admin.list_topics())
        missing = [topic for topic in topics if topic.name(config.prefix) not in there]
        if missing:
            admin.create_topics(
                {
                    topic.name(config.prefix): {
                        "num_partitions": topic.partitions,
                        "replication_factor": -1,
                        "configs": topic.settings(),
                    }
                    for topic in missing
                },
                timeout_ms=_REQUEST_MS,
                wait_for_metadata=True,
            )
    except TopicAlreadyExistsError:
        return []  # someone else made them at the same moment
    except KafkaError as error:
        raise KafkaSetupError(f"topics {config.prefix}.* cannot be made: {error}") from None
    finally:
        admin.close()
    return [topic.name(config.prefix) for topic in missing]
