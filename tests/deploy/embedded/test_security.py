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
from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e


def kafka_options(kafka: Kafka, security: Security, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": kafka.secure_bootstrap,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(security.ca),
        "sasl_mechanism": mechanism,
        "sasl_plain_username": security.user,
        "sasl_plain_password": password,
        "bootstrap_timeout_ms": 2_000,
    }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_kafka_lets_in_who_knows_the_password(
    secure_kafka: Kafka, security: Security, mechanism: str
) -> None:
    """The right password is let in over TLS by both mechanisms, a wrong one is not."""
    KafkaAdminClient(**kafka_options(secure_kafka, security, mechanism, security.password)).close()
    with pytest.raises(KafkaError):
        KafkaAdminClient(**kafka_options(secure_kafka, security, mechanism, "wrong"))


def amqps(artemis: Artemis, security: Security, password: str | None, ca: Path) -> BlockingConnection:
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(ca))
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME, str(ca))
    return BlockingConnection(
        artemis.plain_url, timeout=10, ssl_domain=domain, user=security.user, password=password
    )


def test_artemis_lets_in_who_knows_the_password(secure_artemis: Artemis, security: Security) -> None:
    """A message goes in over TLS by the right password; a wrong one is refused."""
    connection = amqps(secure_artemis, security, security.password, security.ca)
    connection.create_sender("inflight.secure").send(Message("x"))
    connection.close()
    with pytest.raises(ConnectionException):
        amqps(secure_artemis, security, "wrong", security.ca)


def test_artemis_is_not_taken_for_another(
    secure_artemis: Artemis, security: Security, tmp_path: Path
) -> None:
    """A client that trusts another authority does not go on."""
    with pytest.raises(ConnectionException):
        amqps(secure_artemis, security, security.password, Authority(tmp_path).ca)


def test_the_open_way_stays_open(secure_artemis: Artemis) -> None:
    """Routers and probes without a password still come in by the other port."""
    connection = BlockingConnection(secure_artemis.amqp_url, timeout=10)
    connection.create_sender("inflight.open").send(Message("x"))
    connection.close()
