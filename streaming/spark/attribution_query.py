"""The attribution's query: reads windows, live rows, polls and events; writes which hop.

One key of state holds all groups. A record's mesh is known only once it is read, and an event is of all
groups: to spread them by key, Spark would have to read all records before Python does.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming.readwriter import DataStreamWriter

from collectors.contract.topics import ATTRIBUTION, DEAD_LETTERS
from streaming.attribution.engine import Attribution
from streaming.attribution.groups import Make
from streaming.attribution.intake import REASONS, TOPICS
from streaming.spark.accounting_query import with_counts
from streaming.spark.attribution_processor import COLUMNS, LOG_BATCHES, AttributionProcessor
from streaming.spark.processor import OUTPUT_SCHEMA
from streaming.spark.query import Query, Topics
from streaming.spark.settings import JobSettings

NAME: Final = "attribution"
# A batch is bounded: a path has 6 rows in 5 s, and what waits is read four times as fast as it comes.
_LEAST_RECORDS: Final = 4_000
_RECORDS_A_PATH: Final = 24
_START: Final = {
    # A first start, also on the checkpoint of an older job, takes what comes from then on. A day of polls
    # would take long, and explain what nobody asks about any more; and Kafka is not asked which records are
    # of the last minutes, as it would unpack batches in its own memory to tell that.
    "startingOffsets": "latest",
    # Otherwise a task that asks for records which are there waits for an older request to give up.
    "kafka.fetch.max.wait.ms": 1,
}


def attribution_query(
    settings: JobSettings, make: Make = Attribution, log_batches: int = LOG_BATCHES
) -> Query:
    """Returns the query; it is one source of five topics, so that a batch is bounded in all."""
    reads = tuple(topic.name(settings.prefix) for topic in TOPICS)
    records = _LEAST_RECORDS + _RECORDS_A_PATH * len(settings.places)

    def build(topics: Topics) -> DataStreamWriter:
        source = topics.read(**_START, subscribe=",".join(reads), maxOffsetsPerTrigger=records)
        return topics.write(_results(source, settings, make, log_batches))

    return Query(
        name=NAME,
        reads=reads,
        writes=(ATTRIBUTION.name(settings.prefix), DEAD_LETTERS.name(settings.prefix)),
        build=build,
        trigger_ms=settings.attribution_trigger_ms,
        reasons=REASONS,
    )


def _results(source: DataFrame, settings: JobSettings, make: Make, log_batches: int) -> DataFrame:
    """Returns rows for Kafka's sink: one output, so that rows and state advance together."""
    together = (
        source.coalesce(1)
        .withColumn("all", sql.lit(0))
        .withColumn("appended_ms", sql.unix_millis(sql.col("timestamp")))
        .select(*COLUMNS)
    )
    processor = AttributionProcessor(
        dict(settings.places), settings.prefix, settings.checkpoint, make, log_batches
    )
    computed = together.groupBy("all").transformWithStateInPandas(
        processor, outputStructType=OUTPUT_SCHEMA, outputMode="Append", timeMode="None"
    )
    return with_counts(computed).where(sql.col("topic").isNotNull()).select("topic", "key", "value")
