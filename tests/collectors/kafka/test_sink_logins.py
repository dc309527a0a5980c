"""Records to a Kafka that wants TLS and a login: what is wrong is told, nothing is lost by it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from certificates import Authority
from helpers import wait_until
from kafka import KafkaConsumer

from collectors.config.model import Kafka as KafkaConfig
from collectors.config.model import Sasl, Tls
from collectors.contract.topics import SAMPLES
from collectors.kafka import client
from collectors.kafka.client import KafkaSetupError
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka
    from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e
_prefixes = itertools.count()
_WRONG = "not-the-right-one"


@pytest.fixture
def config(secure_kafka: Kafka, security: Security) -> Callable[..., KafkaConfig]:
    """Makes configs for one topic of its own."""
    prefix = f"logins{next(_prefixes)}"
    secure_kafka.make_topics(prefix, [SAMPLES])

    def make(**changes: Any) -> KafkaConfig:
        values: dict[str, Any] = {
            "servers": (secure_kafka.secure_bootstrap,),
            "ca": security.ca,
            "mechanism": "SCRAM-SHA-512",
            "password_file": security.password_file,
            **changes,
        }
        sasl = Sasl(mechanism=values["mechanism"], user=security.user, password_file=values["password_file"])
        tls = Tls(ca=values["ca"]) if values["ca"] else None
        return KafkaConfig(servers=values["servers"], prefix=prefix, tls=tls, sasl=sasl)

    return make


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[KafkaConfig], KafkaSink]]:
    """Starts sinks on the test's one spool, and ends them whatever happens."""
    started: list[KafkaSink] = []

    def make(config: KafkaConfig) -> KafkaSink:
        started.append(KafkaSink(config, Spool(tmp_path / "spool", 1 << 30)))
        started[-1].start()
        return started[-1]

    yield make
    for sink in started:
        sink.close(0)


def _read(kafka: Kafka, config: KafkaConfig, count: int) -> list[bytes]:
    """What stands in the topic, by the open way in."""
    consumer = KafkaConsumer(
        SAMPLES.name(config.prefix),
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        group_id=None,
    )
    found: list[bytes] = []

    def enough() -> bool:
        for messages in consumer.poll(timeout_ms=200).values():
            found.extend(message.value for message in messages)
        return len(found) >= count

    try:
        wait_until(enough, 30, f"{count} records")
    finally:
        consumer.close()
    return found


def _numbered(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_in_order(
    secure_kafka: Kafka, config: Callable[..., KafkaConfig], start: Callable[..., KafkaSink], mechanism: str
) -> None:
    """By each mechanism over TLS, all records come, in order."""
    sink = start(config(mechanism=mechanism))
    for record in _numbered(100):
        sink.put(record, "p")
    assert _read(secure_kafka, config(), 100) == _numbered(100)
    wait_until(lambda: sink.delivered == 100, 10, "all to be acknowledged")
    assert sink.problem is None


def _told(sink: KafkaSink, text: str) -> None:
    wait_until(lambda: text in (sink.problem or "") or None, 40, f"{text!r} to be told")


def test_wrong_password(
    secure_kafka: Kafka,
    security: Security,
    config: Callable[..., KafkaConfig],
    start: Callable[..., KafkaSink],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is told as such and stands nowhere; records wait, and go out when the file is put right."""
    password_file = tmp_path / "password"
    password_file.write_text(_WRONG + "\n")
    sink = start(config(password_file=password_file))
    for record in _numbered(20):
        sink.put(record, "p")
    _told(sink, "Kafka refuses this user or password: see `kafka.sasl`")
    assert sink.delivered == 0
    assert sink.spool.waiting_bytes > 0
    assert sum(sink.dropped_seconds.values()) == 0
    password_file.write_text(security.password + "\n")
    assert _read(secure_kafka, config(), 20) == _numbered(20)
    wait_until(lambda: sink.problem is None, 10, "the problem to be over")
    assert _WRONG not in caplog.text
    assert security.password not in caplog.text


def test_password_file_that_is_away_for_a_while(
    secure_kafka: Kafka,
    security: Security,
    config: Callable[..., KafkaConfig],
    start: Callable[..., KafkaSink],
    tmp_path: Path,
) -> None:
    """At the start it is a mistake that ends it; later records wait until the file is back."""
    password_file = tmp_path / "password"
    with pytest.raises(Exception, match="cannot be read: No such file"):
        start(config(password_file=password_file))
    password_file.write_text(_WRONG + "\n")
    sink = start(config(password_file=password_file))
    password_file.unlink()
    sink.put(b"0", "p")
    _told(sink, f"password file {password_file} cannot be read")
    password_file.write_text(security.password + "\n")
    assert _read(secure_kafka, config(), 1) == [b"0"]


def test_wrong_authority_and_then_the_right_one(
    secure_kafka: Kafka,
    security: Security,
    config: Callable[..., KafkaConfig],
    start: Callable[..., KafkaSink],
    tmp_path: Path,
) -> None:
    """A server that another authority vouches for gets no password; the file put right, records go out."""
    (tmp_path / "other").mkdir()
    ca = tmp_path / "ca.pem"
    ca.write_bytes(Authority(tmp_path / "other").ca.read_bytes())
    sink = start(config(ca=ca))
    for record in _numbered(5):
        sink.put(record, "p")
    _told(sink, "has to be signed by `kafka.tls.ca`")
    assert sink.spool.waiting_bytes > 0
    ca.write_bytes(security.ca.read_bytes())
    assert _read(secure_kafka, config(), 5) == _numbered(5)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mechanism": "SCRAM-SHA-256"}, "Kafka does not offer `kafka.sasl.mechanism`"),
        ({"ca": None}, "this port may want `kafka.tls`"),
        ({"servers": "open"}, "this port does not speak TLS"),
    ],
    ids=["mechanism", "no TLS", "TLS to an open port"],
)
def test_other_mistakes(
    secure_kafka: Kafka,
    config: Callable[..., KafkaConfig],
    changes: dict[str, Any],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is told by the key of the config that is to be looked at."""
    monkeypatch.setattr(client, "_REQUEST_MS", 3_000)  # the client tries again for so long
    if changes.get("servers") == "open":
        changes = {"servers": (secure_kafka.bootstrap,)}

    def told() -> bool:
        """Kafka does not always get its refusal out before it ends the connection."""
        with pytest.raises(KafkaSetupError) as error:
            client.create_topics(config(**changes), [SAMPLES])
        return text in str(error.value)

    wait_until(told, 60, f"{text!r} to be told")
