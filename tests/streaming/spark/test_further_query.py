"""A query beside those of the accounting: what a new one takes, and that it is supervised as they are."""

from __future__ import annotations

import dataclasses
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers import wait_until
from kafka_topics import consume
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming.readwriter import DataStreamWriter
from spark_job import RULES, metric, not_ready, produce, running
from synthetic import EPOCH, Flow

from collectors.contract.records import SECOND_NS
from collectors.contract.topics import ROUTER, Topic
from streaming.spark import job
from streaming.spark.lanes import Layout
from streaming.spark.query import Query, Topics
from streaming.spark.settings import JobSettings, KafkaAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

SUSPECTS = Topic("suspects", 3_600_000, partitions=1)


@dataclasses.dataclass
class Suspects:
    """Joins windows that lost messages with the routers of their mesh that dropped some meanwhile."""

    broken_batches: int  # so many starts give a query that fails in its first batch
    starts: int = 0

    def queries(self, settings: JobSettings, layout: Layout) -> list[Query]:
        """All of the job's, and this one."""
        router = f"{settings.prefix}.{ROUTER.suffix}"
        suspects = f"{settings.prefix}.{SUSPECTS.suffix}"

        def build(topics: Topics) -> DataStreamWriter:
            self.starts += 1
            windows = _json(topics, settings.windows_topic, mesh="string", path="string", lost="bigint")
            windows = windows.withColumn("start_ns", _field("window_start_ns", "bigint"))
            windows = windows.withColumn("end_ns", sql.col("start_ns") + _field("window_ns", "bigint"))
            routers = _json(topics, router, mesh="string", target="string", at_ns="bigint", dropped="bigint")
            while_polled = sql.col("at_ns").between(sql.col("start_ns"), sql.col("end_ns") - 1)
            found = windows.drop("value").join(routers.drop("value"), ["mesh"]).where(while_polled)
            found = found.where("lost > 0 and dropped > 0")
            value = sql.to_json(sql.struct("path", "start_ns", "lost", "target", "dropped"))
            if self.starts <= self.broken_batches:
                value = sql.raise_error(sql.lit("made by a test"))
            return topics.write(found.select(sql.lit(suspects).alias("topic"), value.alias("value")))

        further = Query(
            name="suspects",
            reads=(settings.windows_topic, router),
            writes=(suspects,),
            build=build,
            trigger_ms=settings.trigger_ms,
        )
        return [*job.queries(settings, layout), further]


def _field(name: str, kind: str) -> Column:
    place = {"lost": "classes.lost"}.get(name, name)
    return sql.get_json_object("value", f"$.{place}").cast(kind)


def _json(topics: Topics, topic: str, **fields: str) -> DataFrame:
    rows = topics.read(subscribe=topic).select(sql.col("value").cast("string").alias("value"))
    return rows.select("value", *(_field(name, kind).alias(name) for name, kind in fields.items()))


@pytest.fixture
def settings(kafka: Kafka, tmp_path: Path) -> JobSettings:
    """A job with topics and a checkpoint of its own."""
    prefix = f"further-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix)
    return JobSettings(
        kafka=KafkaAccess(servers=(kafka.bootstrap,)),
        prefix=prefix,
        checkpoint=str(tmp_path / "checkpoint"),
        default_rules=RULES,
        lanes=1,
        trigger_ms=200,
        listen="127.0.0.1:0",
    )


def test_windows_are_joined_with_router_counters(
    spark: SparkSession, settings: JobSettings, kafka: Kafka
) -> None:
    """By a query in the job's list; it fails in its first batch, and the service starts it again.

    What it had planned then is done: of two topics, each a source of its own.
    """
    flow = Flow("path", 20, lose_every=20)
    records = [(flow.path, value) for second in range(20) for value in flow.second(second)]
    produce(kafka.bootstrap, settings.samples_topic, records)
    polls = [  # mesh, router, second of the poll, messages dropped since the one before
        ("prod", "A", 4, 0),
        ("prod", "B", 4, 5),
        ("prod", "B", 7, 2),
        ("test", "C", 7, 9),
        ("prod", "B", 900, 3),
    ]
    counters = [
        {"mesh": mesh, "target": target, "at_ns": (EPOCH + second) * SECOND_NS, "dropped": dropped}
        for mesh, target, second, dropped in polls
    ]
    produce(
        kafka.bootstrap,
        f"{settings.prefix}.{ROUTER.suffix}",
        [("-", json.dumps(each).encode()) for each in counters],
    )
    suspects = Suspects(broken_batches=1)
    with running(spark, settings, suspects.queries) as url:
        wait_until(lambda: f"there is no topic {settings.prefix}.suspects;" in not_ready(url), 60, "why")
        kafka.make_topics(settings.prefix, [SUSPECTS])
        wait_until(lambda: len(found(settings)) == 2, 240, "both windows")
        assert metric(url, 'inflight_stream_restarts_total{query="suspects"}') == 1
        assert metric(url, 'inflight_stream_restarts_total{query="accounting-0"}') == 0
    assert suspects.starts > 1
    assert found(settings) == [
        {"path": "path", "start_ns": EPOCH * SECOND_NS, "lost": 5, "target": "B", "dropped": 5},
        {"path": "path", "start_ns": (EPOCH + 5) * SECOND_NS, "lost": 5, "target": "B", "dropped": 2},
    ]


def found(settings: JobSettings) -> list[dict[str, object]]:
    """What the query wrote, in the order of windows."""
    messages = consume(settings.kafka.servers[0], f"{settings.prefix}.{SUSPECTS.suffix}")
    return sorted((json.loads(each.value) for each in messages), key=lambda each: each["start_ns"])
