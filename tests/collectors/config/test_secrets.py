"""A password file is read alike by everybody who logs in: the collectors, Kafka's clients, and Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.amqp.options import read_options
from collectors.config.model import Kafka, Sasl
from collectors.config.secrets import SecretError, read_password
from collectors.kafka.client import client_kwargs
from streaming.spark.kafka_options import AccessError, kafka_options
from streaming.spark.settings import KafkaAccess


def as_all_read_it(file: Path) -> set[str]:
    """The password, by each way to it."""
    sasl = Sasl(mechanism="PLAIN", user="u", password_file=file)
    kafka = client_kwargs(Kafka(servers=("k:9092",), sasl=sasl))["sasl_plain_password"]
    options = kafka_options(
        KafkaAccess(servers=("k:9092",), mechanism="PLAIN", user="u", password_file=str(file))
    )
    jaas = options["kafka.sasl.jaas.config"]
    spark = jaas.partition('password="')[2].removesuffix('";')
    return {kafka, spark, str(read_options("amqp://r:5672", None, sasl).password), read_password(file)}


@pytest.mark.parametrize(
    ("data", "password"),
    [
        (b"secret", "secret"),
        (b"secret\n", "secret"),
        (b"secret\r\n", "secret"),
        (b"secret\n\n", "secret"),
        (b" a b \n", " a b "),
        ("p\u00e4ss\u2028\x0bword\n".encode(), "p\u00e4ss\u2028\x0bword"),
    ],
)
def test_all_read_the_same(tmp_path: Path, data: bytes, password: str) -> None:
    """The line as it is, without its end; blanks belong to it, and only a line feed ends a line."""
    file = tmp_path / "password"
    file.write_bytes(data)
    assert as_all_read_it(file) == {password}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"old\nnew\n", "has more than one line"),
        (b"old\rnew", "has more than one line"),
        (b"\nsecret\n", "has more than one line"),
        (b"", "is empty"),
        (b"\r\n", "is empty"),
        (b"\xff\n", "is not UTF-8 text"),
    ],
)
def test_what_is_not_one_line_is_refused_by_all(tmp_path: Path, data: bytes, said: str) -> None:
    """And the text does not tell what is in it."""
    file = tmp_path / "password"
    file.write_bytes(data)
    sasl = Sasl(mechanism="PLAIN", user="u", password_file=file)
    access = KafkaAccess(servers=("k:9092",), mechanism="PLAIN", user="u", password_file=str(file))
    with pytest.raises(SecretError, match=said) as told:
        client_kwargs(Kafka(servers=("k:9092",), sasl=sasl))
    assert "old" not in str(told.value)
    with pytest.raises(SecretError, match=said):
        read_options("amqp://r:5672", None, sasl)
    with pytest.raises(AccessError, match=said):
        kafka_options(access)
