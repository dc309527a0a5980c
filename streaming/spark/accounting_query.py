"""The accounting's query, one for each lane: reads samples, writes rows of windows and dead letters."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streaming.shard.outputs import TOPIC_OF
from streaming.shard.shard import ShardRules
from streaming.spark.lanes import Layout
from streaming.spark.processor import INPUT_COLUMNS, OUTPUT_SCHEMA, ShardProcessor
from streaming.spark.progress import OBSERVATION
from streaming.spark.query import Query, Topics
from streaming.spark.settings import JobSettings

# By the defaults a batch is fetched in pieces of 1 MB, each waiting for the one before; and a task that asks
# for records which are there waits half a second for an older request of its consumer to give up.
FETCH: Final = {
    "kafka.max.partition.fetch.bytes": 8 << 20,
    "kafka.receive.buffer.bytes": 1 << 20,
    "kafka.fetch.max.wait.ms": 1,
}


def written_topics(settings: JobSettings) -> tuple[str, ...]:
    """Returns the topics that a lane writes to."""
    return tuple(f"{settings.prefix}.{suffix}" for suffix in TOPIC_OF.values())


def lane_query(settings: JobSettings, layout: Layout, lane: int) -> Query:
    """Returns the query of one lane, which reads its partitions of the samples topic."""

    def build(topics: Topics) -> DataStreamWriter:
        records = max(1, settings.max_records // layout.lanes)
        partitions = json.dumps({settings.samples_topic: layout.partitions_of(lane)})
        source = topics.read(**FETCH | {"assign": partitions, "maxOffsetsPerTrigger": records})
        return topics.write(results(source, settings, layout.shards))

    return Query(
        name=f"accounting-{lane}",
        reads=(settings.samples_topic,),
        writes=written_topics(settings),
        build=build,
        trigger_ms=settings.trigger_ms,
        accounts=True,
    )


def results(source: DataFrame, settings: JobSettings, shards: int) -> DataFrame:
    """Returns rows for Kafka's sink: one output, so that rows and state advance together."""
    key = sql.coalesce(sql.col("key"), sql.lit(b""))
    spread = (
        source.coalesce(1)
        .select(
            sql.pmod(sql.xxhash64(key), sql.lit(shards)).cast("int").alias("shard"),
            "partition",
            "offset",
            sql.unix_millis(sql.col("timestamp")).alias("appended_ms"),
            "key",
            "value",
        )
        .select(*INPUT_COLUMNS)
    )
    topics = {kind: f"{settings.prefix}.{suffix}" for kind, suffix in TOPIC_OF.items()}
    processor = ShardProcessor(
        ShardRules(settings.default_rules, dict(settings.rules)), topics, settings.checkpoint
    )
    computed = spread.groupBy("shard").transformWithStateInPandas(
        processor, outputStructType=OUTPUT_SCHEMA, outputMode="Append", timeMode="None"
    )
    return with_counts(computed).where(sql.col("topic").isNotNull()).select("topic", "key", "value")


def with_counts(outputs: DataFrame) -> DataFrame:
    """Returns the outputs, with the shards' counts observed for the query's progress."""
    number = sql.when(sql.col("counter").isNotNull(), sql.struct("counter", "count"))
    return outputs.observe(OBSERVATION, sql.collect_list(number).alias("numbers"))
