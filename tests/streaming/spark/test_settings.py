"""What the job is told, and how it reaches Kafka; no Spark here."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from collectors.config.load import parse
from collectors.config.paths import Rules
from deploy.errors import Problem
from deploy.parts.job_settings import job_settings
from streaming.attribution.places import Place
from streaming.spark import settings
from streaming.spark.kafka_options import AccessError, kafka_options
from streaming.spark.settings import JobSettings, KafkaAccess

CONFIG = """
version: 1
site: east
kafka:
  servers: [kafka-1:9093, kafka-2:9093]
  prefix: mine
  tls: {{ca: {0}/ca.pem, cert: {0}/cert.pem, key: {0}/key.pem, verify: chain}}
  sasl: {{mechanism: SCRAM-SHA-512, user: inflight, password_file: {0}/password}}
endpoints:
  east: {{url: amqp://east}}
  west: {{url: amqp://west}}
defaults: {{settle: 7s}}
paths:
  all: {{from: east, to: [east, west], address: multicast/all, window: 10s}}
"""
OPTIONS = {"checkpoint": "/cp", "trigger": "500ms"}
SECOND = 1_000_000_000


def of_config(folder: Path, **changes: str) -> JobSettings:
    """The settings of the config above."""
    return job_settings(parse(CONFIG.format(folder), "a.yaml"), **{**OPTIONS, **changes})


def test_settings_hold_the_rules_of_every_path(tmp_path: Path) -> None:
    """By the names that records bear, and come back from JSON as they were."""
    told = of_config(tmp_path)
    assert set(told.rules) == {"all/east", "all/west"}
    assert told.rules["all/east"] == Rules(10 * SECOND, 7 * SECOND, 60 * SECOND, 900 * SECOND)
    assert told.default_rules.window_ns == 5 * SECOND
    assert told.samples_topic == "mine.samples"
    assert told.trigger_ms == 500
    assert settings.decode(told.encode()) == told


def test_settings_hold_the_place_of_every_path(tmp_path: Path) -> None:
    """Where it lies, for the attribution; those that an older version wrote have none, and are read."""
    told = of_config(tmp_path)
    assert set(told.places) == {"all/east", "all/west"}
    assert told.places["all/west"] == Place(
        group="default",
        meshes=("default",),
        address="multicast/all",
        receive_address="multicast/all",
        multicast=True,
        window_ns=10 * SECOND,
        settle_ns=7 * SECOND,
        interval_ns=0,
    )
    raw = json.loads(told.encode())
    del raw["places"], raw["attribution_trigger_ms"]
    assert settings.decode(json.dumps(raw)) == dataclasses.replace(told, places={})


@pytest.mark.parametrize(
    ("paths", "rate", "records"),
    [
        (200, 1_000, 24_031),  # 20 bytes a sample, 1,170 a record: 4.468 MB a second, 256 MiB are 60.1 s
        (3_000, 30, 50_000),  # the most
        (1, 20_000, 2_000),  # the least
    ],
)
def test_a_batch_is_bounded_by_the_bytes_of_the_paths_records(paths: int, rate: int, records: int) -> None:
    """Small records come in large batches, and large ones in small."""
    text = "version: 1\nsite: a\nkafka: {servers: [k:1]}\nendpoints: {e: {url: amqp://e}}\npaths:\n"
    text += "".join(f"  p{n}: {{from: e, to: e, address: a{n}, rate: {rate}/s}}\n" for n in range(paths))
    told = job_settings(parse(text, "a.yaml"), checkpoint="/cp", trigger="1s")
    assert told.max_records == records


@pytest.mark.parametrize(
    ("paths", "rate", "lanes"),
    [
        (5, 10, 1),
        (200, 1_000, 2),  # 0.762 cores
        (2_000, 100, 3),  # 1.68
        (3_000, 100, 4),  # 2.34
    ],
)
def test_lanes_are_as_many_as_the_paths_need_cores(paths: int, rate: int, lanes: int) -> None:
    """0.36 cores, 0.00051 a path and 0.0000015 a sample, and six tenths of them in use."""
    text = "version: 1\nsite: a\nkafka: {servers: [k:1]}\nendpoints: {e: {url: amqp://e}}\npaths:\n"
    text += "".join(f"  p{n}: {{from: e, to: e, address: a{n}, rate: {rate}/s}}\n" for n in range(paths))
    told = job_settings(parse(text, "a.yaml"), checkpoint="/cp", trigger="1s")
    assert told.suited_lanes == lanes
    assert told.lanes is None


def test_settings_name_secrets_files_only(tmp_path: Path) -> None:
    """The JSON goes to a cluster, through hands and logs."""
    (tmp_path / "password").write_text("pa55word\n")
    text = of_config(tmp_path).encode()
    assert "pa55word" not in text
    assert f"{tmp_path}/password" in text


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"v": 2}', '{"v": 1, "kafka": {}}'])
def test_settings_of_another_form_are_refused(text: str) -> None:
    """With what to do about it."""
    with pytest.raises(ValueError, match=r"no settings of the job .*`inflight submit`"):
        settings.decode(text)


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    """A job that is older than its settings must not leave some of them out in silence."""
    raw = json.loads(of_config(tmp_path).encode())
    with pytest.raises(ValueError, match="no settings of the job"):
        settings.decode(json.dumps({**raw, "newer": 1}))


@pytest.mark.parametrize(
    ("kafka", "said"),
    [
        ("", "the config has no `kafka`"),
        (
            "kafka: {servers: ['k:1'], tls: {verify: none}}",
            "kafka.tls.verify: the Kafka client always checks",
        ),
        (
            "kafka: {servers: ['k:1'], sasl: {mechanism: ANONYMOUS}}",
            "kafka.sasl.mechanism: Kafka knows PLAIN",
        ),
    ],
)
def test_what_kafkas_client_cannot_do_is_refused(kafka: str, said: str) -> None:
    """Before Spark starts."""
    config = parse(f"version: 1\nsite: a\n{kafka}\n", "a.yaml")
    with pytest.raises(Problem) as problem:
        job_settings(config, checkpoint=None, trigger="1s")
    assert said in str(problem.value)


def test_files_are_read_into_kafkas_options(tmp_path: Path) -> None:
    """Inline, so that a cluster's machines need none of them; a quote in a password stays one."""
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "cert.pem").write_text("CERT")
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----")
    (tmp_path / "password").write_text('a"b\\c\n')
    assert kafka_options(of_config(tmp_path).kafka) == {
        "kafka.bootstrap.servers": "kafka-1:9093,kafka-2:9093",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.endpoint.identification.algorithm": "",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "CA",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.key": "-----BEGIN PRIVATE KEY-----",
        "kafka.ssl.keystore.certificate.chain": "CERT",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="inflight" password="a\\"b\\\\c";'
        ),
    }


def test_a_plain_kafka_needs_no_options() -> None:
    """But its address."""
    assert kafka_options(KafkaAccess(servers=("k:9092",))) == {"kafka.bootstrap.servers": "k:9092"}


def test_a_key_that_java_cannot_read_is_told(tmp_path: Path) -> None:
    """With the command that converts it."""
    for name, text in (("ca", "CA"), ("cert", "CERT"), ("key", "-----BEGIN RSA PRIVATE KEY-----")):
        (tmp_path / f"{name}.pem").write_text(text)
    with pytest.raises(AccessError, match="PKCS #8 only; convert it by `openssl pkcs8"):
        kafka_options(dataclasses.replace(of_config(tmp_path).kafka, mechanism=None))


def test_a_missing_file_is_told_by_name(tmp_path: Path) -> None:
    """No traceback, and which one."""
    with pytest.raises(AccessError, match=r"ca\.pem: cannot be read: No such file"):
        kafka_options(of_config(tmp_path).kafka)
