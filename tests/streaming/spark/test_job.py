"""The job on a real Spark and a real Kafka, in this process."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from certificates import Authority
from helpers import wait_until
from kafka.admin import KafkaAdminClient
from prometheus_client import CollectorRegistry
from pyspark.sql import SparkSession
from spark_job import (
    RULES,
    consume,
    expected,
    get,
    letters,
    metric,
    not_ready,
    produce,
    running,
    window_rows,
)
from synthetic import Flow

from collectors.config.load import parse
from collectors.contract.topics import LIVE, SAMPLES, WINDOWS
from deploy.parts.in_process import InProcessAccounting
from streaming.exporter import Exporter
from streaming.spark import checkpoint
from streaming.spark.checkpoint import CheckpointError
from streaming.spark.job import find_layout
from streaming.spark.lanes import Layout
from streaming.spark.settings import JobSettings, KafkaAccess

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka
    from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e

FLOWS = [Flow(f"path-{number}", 20, lose_every=5 + number) for number in range(12)]


@pytest.fixture
def settings(kafka: Kafka, tmp_path: Path) -> JobSettings:
    """A job with topics and a checkpoint of its own, in small batches."""
    prefix = f"job-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix)
    return JobSettings(
        kafka=KafkaAccess(servers=(kafka.bootstrap,)),
        prefix=prefix,
        checkpoint=str(tmp_path / "checkpoint"),
        default_rules=RULES,
        lanes=2,
        trigger_ms=200,
        max_records=300,
        listen="127.0.0.1:0",
    )


def lanes_sum(url: str, name: str, label: str = "") -> float:
    """Of a metric of the lanes, with one more label."""
    lines = (f'inflight_stream_{name}{{query="accounting-{lane}"{label}}}' for lane in range(3))
    return sum(metric(url, line) for line in lines)


def read_all(url: str, records: int) -> None:
    """Wait until the job has read so many records."""
    wait_until(
        lambda: lanes_sum(url, "records_total") >= records,
        240,
        f"{records} records read",
    )


def test_rows_are_those_of_accounting_in_process(spark: SparkSession, settings: JobSettings) -> None:
    """Byte for byte, over a stop in between; bad records become letters, and everything is counted."""
    bootstrap, topic = settings.kafka.servers[0], settings.samples_topic
    first = [(flow.path, value) for second in range(20) for flow in FLOWS for value in flow.second(second)]
    second = [(flow.path, value) for at in range(20, 40) for flow in FLOWS for value in flow.second(at)]
    count = produce(bootstrap, topic, [*first, ("path-1", b"nonsense"), ("path-2", first[0][1])])
    with running(spark, settings) as url:
        read_all(url, count)
        assert lanes_sum(url, "dead_letters_total", ',reason="malformed"') == 1
        assert lanes_sum(url, "dead_letters_total", ',reason="alien"') == 1
        assert lanes_sum(url, "records_lost_total") == 0
        assert get(f"{url}/-/ready") == "ready\n"
    repeats = first[:50]
    count = produce(bootstrap, topic, [*second, *repeats])
    with running(spark, dataclasses.replace(settings, max_records=1000)) as url:
        read_all(url, count)
        assert lanes_sum(url, "ignored_total", ',reason="repeats"') == 50
        assert metric(url, "inflight_stream_state_rows") > 0
    found, repeated = window_rows(bootstrap, settings.windows_topic)
    assert len(found) == 12 * 6
    assert found == expected(bootstrap, topic)
    assert repeated == 0
    assert sorted(letter["reason"] for letter in letters(bootstrap, settings.dead_letters_topic)) == [
        "alien",
        "malformed",
    ]
    live = {message.key.decode() for message in consume(bootstrap, settings.live_topic)}
    assert live == {flow.path for flow in FLOWS}


def test_inflight_run_gives_the_jobs_rows(spark: SparkSession, settings: JobSettings) -> None:
    """The records of paths with losses, straight into the process that needs no Kafka: byte for byte."""
    records = [(flow.path, value) for at in range(30) for flow in FLOWS[:5] for value in flow.second(at)]
    config, given = parse("version: 1\nsite: here\n", "inflight.yaml"), list[bytes]()
    run = InProcessAccounting(config, Exporter(config, CollectorRegistry()), on_row=given.append)
    for path, value in records:
        run.take(value, path)
    count = produce(settings.kafka.servers[0], settings.samples_topic, records)
    with running(spark, settings) as url:
        read_all(url, count)
    found, _ = window_rows(settings.kafka.servers[0], settings.windows_topic)
    assert len(found) == 5 * 4
    assert found == sorted(given)


def test_a_lost_checkpoint_gives_the_same_rows_again(spark: SparkSession, settings: JobSettings) -> None:
    """The job rebuilds from Kafka, with other lanes; whoever drops repeats counts nothing twice."""
    bootstrap = settings.kafka.servers[0]
    records = [(flow.path, value) for at in range(25) for flow in FLOWS[:4] for value in flow.second(at)]
    count = produce(bootstrap, settings.samples_topic, records)
    with running(spark, settings) as url:
        read_all(url, count)
    before, repeated = window_rows(bootstrap, settings.windows_topic)
    assert (len(before), repeated) == (4 * 3, 0)
    other = dataclasses.replace(settings, checkpoint=f"{settings.checkpoint}-2", lanes=3)
    with running(spark, other) as url:
        read_all(url, count)
    assert window_rows(bootstrap, settings.windows_topic) == (before, 4 * 3)


def test_a_checkpoint_keeps_its_layout(spark: SparkSession, settings: JobSettings) -> None:
    """What it was begun with holds where nothing is asked for; anything else is refused, with the way out."""
    begun = dataclasses.replace(settings, lanes=3)
    layout = checkpoint.layout(spark, begun, lambda: 12)
    assert layout == Layout(3, 12)
    whatever = dataclasses.replace(settings, lanes=None)
    assert checkpoint.layout(spark, whatever, lambda: 1) == layout
    for changed, said in (
        ({"lanes": 2}, r"begun with lanes = 3, now 2 is asked for: .*new --checkpoint"),
        ({"prefix": "other"}, "samples topic = "),
    ):
        with pytest.raises(CheckpointError, match=said):
            checkpoint.layout(spark, dataclasses.replace(whatever, **changed), lambda: 12)
    folder = Path(settings.checkpoint)
    (folder / "inflight.json").write_text('{"v": 1}')
    with pytest.raises(CheckpointError, match=r"Checksum error.*give a new --checkpoint"):
        checkpoint.layout(spark, whatever, lambda: 12)
    (folder / ".inflight.json.crc").unlink()
    with pytest.raises(CheckpointError, match="is of version 1, this job knows version 3"):
        checkpoint.layout(spark, whatever, lambda: 12)
    (folder / "inflight.json").rename(folder / "other.json")
    with pytest.raises(CheckpointError, match=r"holds files, but no inflight\.json"):
        checkpoint.layout(spark, whatever, lambda: 12)


def test_a_topic_with_more_partitions_than_before_is_refused(
    spark: SparkSession, settings: JobSettings
) -> None:
    """Paths have records in two of them then, and nothing would read the new ones."""
    assert find_layout(spark, settings) == Layout(2, 12)
    admin = KafkaAdminClient(bootstrap_servers=settings.kafka.servers[0])
    admin.create_partitions({settings.samples_topic: 13})
    admin.close()
    wait_until(lambda: _refused(spark, settings), 30, "the new partition")


def _refused(spark: SparkSession, settings: JobSettings) -> bool:
    try:
        find_layout(spark, settings)
    except CheckpointError as error:
        return "has 13 partitions, and had 12" in str(error)
    return False


def test_a_job_waits_for_its_topics(spark: SparkSession, settings: JobSettings, kafka: Kafka) -> None:
    """It says what it waits for, and begins when they are there, with those that it writes to."""
    prefix = f"later-{uuid.uuid4().hex[:8]}"
    later = dataclasses.replace(settings, prefix=prefix)
    with running(spark, later) as url:
        wait_until(lambda: "there is no topic" in not_ready(url), 60, "the reason")
        kafka.make_topics(prefix, [SAMPLES, WINDOWS, LIVE])
        missing = f"there is no topic {later.dead_letters_topic};"
        wait_until(lambda: missing in not_ready(url), 60, "the topic that is still missing to be told")
        kafka.make_topics(prefix)
        records = [(FLOWS[0].path, value) for value in FLOWS[0].second(0)]
        count = produce(kafka.bootstrap, later.samples_topic, records)
        read_all(url, count)


def test_kafka_by_tls_and_a_password(
    spark: SparkSession,
    settings: JobSettings,
    secure_kafka: Kafka,
    security: Security,
    authority: Authority,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Both ways by SASL_SSL, with files that the driver reads; the password appears nowhere."""
    secure_kafka.make_topics(settings.prefix)
    records = [(flow.path, value) for at in range(20) for flow in FLOWS[:2] for value in flow.second(at)]
    count = produce(secure_kafka.bootstrap, settings.samples_topic, records)
    client = authority.issue("spark")
    access = KafkaAccess(
        servers=(secure_kafka.secure_bootstrap,),
        tls=True,
        ca_file=str(authority.ca),
        cert_file=str(client.cert),
        key_file=str(client.key),
        mechanism="SCRAM-SHA-512",
        user=security.user,
        password_file=str(security.password_file),
    )
    with running(spark, dataclasses.replace(settings, kafka=access)) as url:
        read_all(url, count)
    found, _ = window_rows(secure_kafka.bootstrap, settings.windows_topic)
    assert len(found) == 2 * 2
    told = capfd.readouterr()
    assert security.password not in told.out + told.err
