"""The Spark application: its session, its queries, their sources and sinks."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

from streaming.shard.outputs import TOPIC_OF
from streaming.shard.shard import ShardRules
from streaming.spark import checkpoint, samples_topic
from streaming.spark.detour import CAREFUL
from streaming.spark.kafka_options import REDACTION, kafka_options
from streaming.spark.lanes import Layout
from streaming.spark.processor import INPUT_COLUMNS, OUTPUT_SCHEMA, ShardProcessor
from streaming.spark.progress import OBSERVATION
from streaming.spark.settings import JobSettings

# Where it matters to us; what a cluster's administrator sets beside these stands.
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
_ON_FILES: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def session(
    jars: Sequence[Path] = (), *, local_heap: str | None = None, master: str | None = None
) -> SparkSession:
    """The session: with `local_heap` it is in this process, otherwise as spark-submit was told."""
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


def settled(spark: SparkSession, settings: JobSettings) -> Layout:
    """How the job is spread; CheckpointError or AccessError where it cannot run, TopicError where not now."""
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


def written_topics(settings: JobSettings) -> list[str]:
    return [f"{settings.prefix}.{suffix}" for suffix in TOPIC_OF.values()]


def lane_query(lane: int) -> str:
    """What the query of a lane is called, in metrics and in the checkpoint."""
    return f"accounting-{lane}"


def start_lane(
    spark: SparkSession, settings: JobSettings, layout: Layout, lane: int, *, careful: bool = False
) -> StreamingQuery:
    """Start a lane's query on its checkpoint; AccessError where that cannot be.

    With care it carries out one batch, the one that is planned, and ends.
    """
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # of state: then nothing is shuffled
    if checkpoint.on_local_files(spark, settings):
        # The default one starts a dozen processes (chmod, readlink) in each batch.
        spark.conf.set("spark.sql.streaming.checkpointFileManagerClass", _ON_FILES)
    access = kafka_options(settings.kafka)
    name = lane_query(lane)
    with _workers_of(spark, name):
        source = samples(spark, settings, access, layout, lane, careful=careful)
        rows = results(source, settings, layout.shards)
    writer = rows.writeStream.queryName(name).outputMode("append")
    writer = writer.trigger(**when(settings.trigger_ms, careful=careful))
    writer = writer.option("checkpointLocation", f"{settings.checkpoint.rstrip('/')}/{name}")
    return writer.format("kafka").options(**access).options(**_PRODUCER).start()


def when(trigger_ms: int, *, careful: bool) -> dict[str, Any]:
    """A query's trigger."""
    return {"once": True} if careful else {"processingTime": f"{trigger_ms} milliseconds"}


@contextmanager
def _workers_of(spark: SparkSession, name: str) -> Iterator[None]:
    """Functions made meanwhile run in Python workers that no other query uses.

    [Spark keeps workers by their environment. One worker then has the lane's state at hand in each batch.]
    """
    environment = spark.sparkContext.environment
    environment[_LANE] = name
    try:
        yield
    finally:
        del environment[_LANE]


_LANE: Final = "INFLIGHT_LANE"

# A window row holds two histograms: batches of them compress well.
_PRODUCER: Final = {
    "kafka.compression.type": "lz4",
    "kafka.linger.ms": "5",
    "kafka.enable.idempotence": "true",
    "kafka.acks": "all",
}


# By the defaults a batch is fetched in pieces of 1 MB, each waiting for the one before; and a task that asks
# for records which are there waits half a second for an older request of its consumer to give up.
FETCH: Final = {
    "kafka.max.partition.fetch.bytes": 8 << 20,
    "kafka.receive.buffer.bytes": 1 << 20,
    "kafka.fetch.max.wait.ms": 1,
}


def samples(
    spark: SparkSession,
    settings: JobSettings,
    access: Mapping[str, str],
    layout: Layout,
    lane: int,
    *,
    careful: bool = False,
) -> DataFrame:
    """The lane's partitions of the samples topic, as Kafka has them."""
    partitions = {settings.samples_topic: layout.partitions_of(lane)}
    reader = spark.readStream.format("kafka").options(**access)
    reader = reader.option("assign", json.dumps(partitions)).option("startingOffsets", "earliest")
    records = max(1, settings.max_records // layout.lanes)
    reader = reader.option("maxOffsetsPerTrigger", records).options(**FETCH)
    reader = reader.options(**(CAREFUL if careful else {}))
    # Records that Kafka dropped before we read them are told and counted; ending the job would lose more.
    return reader.option("failOnDataLoss", "false").load()


def results(source: DataFrame, settings: JobSettings, shards: int) -> DataFrame:
    """Rows for Kafka's sink: one output, so that rows and state advance together."""
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
    return counted(computed).where(sql.col("topic").isNotNull()).select("topic", "key", "value")


def counted(outputs: DataFrame) -> DataFrame:
    """With the shards' numbers observed, for the progress."""
    number = sql.when(sql.col("counter").isNotNull(), sql.struct("counter", "count"))
    return outputs.observe(OBSERVATION, sql.collect_list(number).alias("numbers"))
