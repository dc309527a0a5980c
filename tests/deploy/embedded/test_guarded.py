"""Kafka and Artemis by the guarded way: TLS and a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError
from proton import ConnectionException, Message, SSLDomain
from proton.utils import BlockingConnection

from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.programs.kafka import Kafka
from deploy.embedded.programs.secured import Guard

pytestmark = pytest.mark.e2e


def kafka_options(kafka: Kafka, guard: Guard, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": kafka.guarded_bootstrap,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(guard.ca),
        "sasl_mechanism": mechanism,
        "sasl_plain_username": guard.user,
        "sasl_plain_password": password,
        "bootstrap_timeout_ms": 2_000,
    }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_kafka_lets_in_who_knows_the_password(guarded_kafka: Kafka, guard: Guard, mechanism: str) -> None:
    """The right password is let in over TLS by both mechanisms, a wrong one is not."""
    KafkaAdminClient(**kafka_options(guarded_kafka, guard, mechanism, guard.password)).close()
    with pytest.raises(KafkaError):
        KafkaAdminClient(**kafka_options(guarded_kafka, guard, mechanism, "wrong"))


def amqps(artemis: Artemis, guard: Guard, password: str | None, ca: Path) -> BlockingConnection:
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(ca))
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME, str(ca))
    return BlockingConnection(
        artemis.guarded_url, timeout=10, ssl_domain=domain, user=guard.user, password=password
    )


def test_artemis_lets_in_who_knows_the_password(guarded_artemis: Artemis, guard: Guard) -> None:
    """A message goes in over TLS by the right password; a wrong one is refused."""
    connection = amqps(guarded_artemis, guard, guard.password, guard.ca)
    connection.create_sender("inflight.guarded").send(Message("x"))
    connection.close()
    with pytest.raises(ConnectionException):
        amqps(guarded_artemis, guard, "wrong", guard.ca)


def test_artemis_is_not_taken_for_another(guarded_artemis: Artemis, guard: Guard, tmp_path: Path) -> None:
    """A client that trusts another authority does not go on."""
    with pytest.raises(ConnectionException):
        amqps(guarded_artemis, guard, guard.password, Authority(tmp_path).ca)


def test_the_open_way_stays_open(guarded_artemis: Artemis) -> None:
    """Routers and probes without a password still come in by the other port."""
    connection = BlockingConnection(guarded_artemis.amqp_url, timeout=10)
    connection.create_sender("inflight.open").send(Message("x"))
    connection.close()
