"""A streaming query of the job: what it reads and writes, and how it is started on its checkpoint.

`job.queries` lists them all; the service starts, watches and restarts each of them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streaming.spark.checkpoint import on_local_files
from streaming.spark.kafka_options import kafka_options
from streaming.spark.settings import JobSettings

_PRODUCER: Final = {
    "kafka.compression.type": "lz4",  # a window row holds two histograms: batches of them compress well
    "kafka.linger.ms": "5",
    "kafka.enable.idempotence": "true",
    "kafka.acks": "all",
}
# With one of Kafka's batches at a time Spark's client unpacks none behind what is planned.
_CAREFUL: Final = {"kafka.max.partition.fetch.bytes": 1}
_ON_FILES: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_WORKERS_OF: Final = "INFLIGHT_QUERY"


@dataclass(frozen=True, slots=True)
class Topics:
    """Kafka's topics as a query's sources and sink."""

    spark: SparkSession
    access: Mapping[str, str]  # Spark's options of it
    careful: bool

    def read(self, **options: Any) -> DataFrame:
        """Returns a source; `subscribe` or `assign` among the options names what it reads."""
        reader = self.spark.readStream.format("kafka").options(**self.access)
        # Records that Kafka dropped before we read them are logged and counted; ending would lose more.
        reader = reader.options(startingOffsets="earliest", failOnDataLoss="false").options(**options)
        return reader.options(**(_CAREFUL if self.careful else {})).load()

    def write(self, rows: DataFrame) -> DataStreamWriter:
        """Returns a sink for rows of topic, key and value."""
        return rows.writeStream.format("kafka").options(**self.access).options(**_PRODUCER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query; a start goes on from the folder of its name in the job's checkpoint."""

    name: str  # in metrics and logs, too
    reads: tuple[str, ...]  # topics, each of them read by one source
    writes: tuple[str, ...] = ()  # topics
    build: Callable[[Topics], DataStreamWriter]
    trigger_ms: int
    accounts: bool = False  # its shards count what they take in (progress.py)
    reasons: tuple[str, ...] = ()  # for which it puts records aside, beside those of the accounting

    @property
    def topics(self) -> tuple[str, ...]:
        """All that have to be there."""
        return (*self.reads, *self.writes)

    def folder(self, checkpoint: str) -> str:
        """Returns where its place and state are kept."""
        return f"{checkpoint.rstrip('/')}/{self.name}"

    def start(self, spark: SparkSession, settings: JobSettings, *, careful: bool = False) -> StreamingQuery:
        """Start it; `careful`: it carries out one batch, the one that is planned, and ends.

        Raises AccessError where Kafka's files cannot be read, and PySparkException where Spark refuses.
        """
        spark.conf.set("spark.sql.shuffle.partitions", "1")  # of state: then nothing is shuffled
        if on_local_files(spark, settings):
            # The default one starts a dozen processes (chmod, readlink) in each batch.
            spark.conf.set("spark.sql.streaming.checkpointFileManagerClass", _ON_FILES)
        with self._own_workers(spark):
            writer = self.build(Topics(spark, kafka_options(settings.kafka), careful))
        writer = writer.queryName(self.name).outputMode("append")
        if careful:
            writer = writer.trigger(once=True)
        else:
            writer = writer.trigger(processingTime=f"{self.trigger_ms} milliseconds")
        return writer.option("checkpointLocation", self.folder(settings.checkpoint)).start()

    @contextmanager
    def _own_workers(self, spark: SparkSession) -> Iterator[None]:
        """Within it, functions are made that run in Python workers of this query only.

        Spark keeps workers by their environment. So one worker has a lane's state at hand in each batch.
        """
        environment = spark.sparkContext.environment
        environment[_WORKERS_OF] = self.name
        try:
            yield
        finally:
            del environment[_WORKERS_OF]
