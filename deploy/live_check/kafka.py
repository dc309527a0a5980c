"""Is Kafka to be used, and are the topics there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from collectors import topics
from collectors.config import Config
from collectors.kafka_client import KafkaSetupError, client_kwargs
from collectors.secrets import SecretError
from deploy.live_check import fixes
from deploy.live_check.result import Checked

_MS: Final = 8_000


def check_kafka(config: Config) -> Iterator[Checked]:
    """The login, and each topic."""
    if config.kafka is None:
        return
    what = f"kafka at {', '.join(config.kafka.servers)}"
    try:
        admin = KafkaAdminClient(
            **client_kwargs(config.kafka), request_timeout_ms=_MS, bootstrap_timeout_ms=_MS
        )
        try:
            there = set(admin.list_topics())
        finally:
            admin.close()
    except (KafkaError, KafkaSetupError, SecretError) as error:
        fix = f"see that it runs, and `kafka.tls` and `kafka.sasl` in the config; {fixes.RIGHTS}"
        yield fixes.failed(what, f"{type(error).__name__}: {error}", fix)
        return
    missing = [t.name(config.kafka.prefix) for t in topics.ALL if t.name(config.kafka.prefix) not in there]
    if missing:
        yield fixes.failed(what, f"topics are missing: {', '.join(missing)}", fixes.TOPICS)
    else:
        yield fixes.passed(what, "all topics are there")
