"""The Spark application: its session, how it is spread over lanes, and which queries it runs."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final

from pyspark.sql import SparkSession

from streaming.spark import checkpoint, samples_topic
from streaming.spark.accounting_query import lane_query, written_topics
from streaming.spark.archive import archive_query, attribution_archive_query, keep_compact
from streaming.spark.attribution_query import attribution_query
from streaming.spark.kafka_options import REDACTION, kafka_options
from streaming.spark.lanes import Layout
from streaming.spark.query import Query
from streaming.spark.settings import JobSettings

# Where it matters to us; what else a cluster's administrator sets stands.
SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.sql.streaming.stopTimeout": "3s",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",  # it is not for streams, which Spark would say each time
    # Records are up to 1 MB: a batch of Arrow rows to the Python worker is bounded by bytes, too.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    # A consumer for each partition of each query: with fewer they are made anew in each batch.
    "spark.kafka.consumer.cache.capacity": "1024",
    "spark.redaction.regex": REDACTION,
    "spark.sql.redaction.options.regex": REDACTION,
    # A job that runs for months keeps no history of itself in the driver's memory.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.streaming.ui.retainedQueries": "2",
    "spark.sql.streaming.ui.retainedProgressUpdates": "10",
}
_LOCAL: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
}
# Of a few cores the second compiler takes one for many minutes, for code that mostly copies bytes; the
# parallel collector takes less of them than G1 does. What each gave stands in BENCHMARKS.md.
_LOCAL_JVM: Final = "-XX:+ExitOnOutOfMemoryError -XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseParallelGC"


def session(
    jars: Sequence[Path] = (), *, local_heap: str | None = None, master: str | None = None
) -> SparkSession:
    """Returns the session: of this process with `local_heap`, otherwise as spark-submit was told."""
    builder: Any = SparkSession.builder.appName("inflight")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    if local_heap:
        os.environ["PYSPARK_PYTHON"] = sys.executable  # workers take `python3` from the PATH otherwise
        log_config = Path(__file__).with_name("log4j2.xml")
        options = f"{_LOCAL_JVM} -Dlog4j2.configurationFile=file:{log_config}"
        builder = builder.master(master or "local[*]").config("spark.driver.memory", local_heap)
        builder = builder.config("spark.driver.extraJavaOptions", options)
        builder = builder.config("spark.jars", ",".join(str(jar) for jar in jars))
        for key, value in _LOCAL.items():
            builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    return spark


def queries(settings: JobSettings, layout: Layout) -> list[Query]:
    """Returns all that the job runs. A further query is a module like archive.py, and a line here."""
    found = [lane_query(settings, layout, lane) for lane in range(layout.lanes)]
    found.append(attribution_query(settings))
    if settings.archive:
        found += [
            archive_query(settings, settings.archive),
            attribution_archive_query(settings, settings.archive),
        ]
    return found


def background(settings: JobSettings) -> dict[str, Callable[[SparkSession, Event], None]]:
    """Returns what goes on beside the queries until the event is set, in a thread each, by its name."""
    if not settings.archive:
        return {}
    return {"compaction": functools.partial(keep_compact, settings.archive)}


def find_layout(spark: SparkSession, settings: JobSettings) -> Layout:
    """Returns how the job is spread over lanes; a new checkpoint is begun with it.

    Raises CheckpointError or AccessError where the job cannot run as it is set, and TopicError where Kafka
    does not tell now.
    """
    access = kafka_options(settings.kafka)

    @functools.cache
    def partitions() -> int:
        # A batch that cannot be written is computed for ever; of dead letters the first may come in a year.
        return samples_topic.partitions(spark, access, settings.samples_topic, written_topics(settings))

    layout = checkpoint.layout(spark, settings, partitions)
    if (now := partitions()) != layout.partitions:
        raise checkpoint.CheckpointError(
            f"the topic {settings.samples_topic} has {now} partitions, and had {layout.partitions} when the "
            f"checkpoint {settings.checkpoint} was begun: paths now have records in two of them. Make the "
            "topic anew, or go to another `kafka.prefix`, and give a new --checkpoint"
        )
    return layout


def check_topics(spark: SparkSession, settings: JobSettings, query: Query) -> None:
    """Raises TopicError where a topic that the query reads or writes is not there, or Kafka does not tell."""
    known = {settings.samples_topic, *written_topics(settings)}  # `find_layout` has asked for these
    if others := [topic for topic in query.topics if topic not in known]:
        samples_topic.partitions(spark, kafka_options(settings.kafka), settings.samples_topic, others)
