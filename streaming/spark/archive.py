"""The archive of final rows: Parquet by date, written by a query of its own, compacted a day at a time.

DIR/landing/date=2026-01-31/part-….parquet   as they come, small files, rows may be there twice
DIR/daily/date=2026-01-31/part-….parquet     a finished day: each row once, sorted by path and window
DIR/attribution/…                            the same of the rows that name hops, by the day of their episode
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from threading import Event
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.readwriter import DataStreamWriter

from collectors.contract import topics as kafka_topics
from collectors.process import wall_clock
from streaming.accounting.bounds import AHEAD_NS
from streaming.archive.layout import ALL, ATTRIBUTION, DAILY, LANDING, WINDOWS, Layout
from streaming.spark.checkpoint import hadoop
from streaming.spark.query import Query, Topics
from streaming.spark.settings import JobSettings

_log: Final = logging.getLogger("inflight.stream")

_DATE: Final = "date"
_COMPACT_SECONDS: Final = 1_800
_FINISHED_SECONDS: Final = 7_200
_SETTLED_MS: Final = 600_000  # a landed file untouched for so long is whole
_FILE_OPTIONS: Final = {"compression": "zstd"}


def archive_query(settings: JobSettings, folder: str) -> Query:
    """Returns the query that appends what comes on the windows topic to the landing folder."""
    return _query("archive", settings, settings.windows_topic, folder, WINDOWS)


def attribution_archive_query(settings: JobSettings, folder: str) -> Query:
    """Returns the query that does the same with the rows that name hops, in a folder beside."""
    topic = kafka_topics.ATTRIBUTION.name(settings.prefix)
    return _query("attribution-archive", settings, topic, folder, ATTRIBUTION)


def _query(name: str, settings: JobSettings, topic: str, folder: str, layout: Layout) -> Query:
    def build(topics: Topics) -> DataStreamWriter:
        source = topics.read(subscribe=topic, maxOffsetsPerTrigger=200_000)
        # One file for each date and trigger: the less to compact.
        writer = table(source, layout).coalesce(1).writeStream.format("parquet").partitionBy(_DATE)
        place = f"{layout.root(folder)}/{LANDING}"
        return writer.options(**_FILE_OPTIONS, retention="7d", path=place)

    return Query(name=name, reads=(topic,), build=build, trigger_ms=settings.archive_trigger_ms)


def table(source: DataFrame, layout: Layout = WINDOWS) -> DataFrame:
    """Returns rows as they are archived; what is no JSON of ours is left out."""
    text = sql.col("value").cast("string").alias("row")
    columns = [
        # `try_cast`: a cast of what is no number would end the query, and again after each start.
        sql.get_json_object("row", place).try_cast(kind).alias(name)
        for name, (place, kind) in layout.columns.items()
    ]
    rows = source.select(text).select(*columns, "row")
    for name in layout.identity:
        rows = rows.where(sql.col(name).isNotNull())
    newest_ns = sql.unix_micros(sql.current_timestamp()) * 1_000 + AHEAD_NS
    rows = rows.where(sql.col(layout.time).between(sql.lit(0), newest_ns))
    seconds = (sql.col(layout.time) / sql.lit(1_000_000_000)).cast("bigint")
    return rows.withColumn(_DATE, sql.to_date(sql.timestamp_seconds(seconds)))


def keep_compact(archive: str, spark: SparkSession, stopping: Event) -> None:
    """Compact finished days, now and then, until `stopping` is set; failures are told and tried again."""
    while not stopping.wait(_COMPACT_SECONDS):
        # Revisions come for a quarter of an hour; what comes later still is taken in by the next round.
        before = wall_clock.now_ns() / 1e9 - _FINISHED_SECONDS
        finished = datetime.fromtimestamp(before, UTC).strftime("%Y-%m-%d")
        try:
            for layout in ALL:
                for date in compact(spark, archive, finished, layout):
                    _log.info("compacted %s of the archive%s", date, layout.folder and f", {layout.folder}")
        except (PySparkException, Py4JError, OSError) as error:
            if not stopping.is_set():
                _log.error("the archive could not be compacted: %s", str(error).splitlines()[0][:300])


def compact(
    spark: SparkSession, archive: str, before: str, layout: Layout = WINDOWS, *, settled_ms: int = _SETTLED_MS
) -> list[str]:
    """Write each landed date before `before` (YYYY-MM-DD) as one sorted file; returns those dates.

    A date that got rows after it was compacted is done again. Landed files are deleted once the day is whole.
    """
    done = []
    archive = layout.root(archive)
    schema = _schema(layout)
    for date in _dates(spark, f"{archive}/{LANDING}"):
        landed = _files(spark, f"{archive}/{LANDING}/{_DATE}={date}", settled_ms) if date < before else []
        if not landed:
            continue
        daily = f"{archive}/{DAILY}/{_DATE}={date}"
        # Files by name: the sink's own log would hide what is listed here, and what comes later stays.
        rows = spark.read.schema(schema).parquet(*landed)
        if _exists(spark, daily):
            rows = rows.unionByName(spark.read.schema(schema).parquet(daily))
        rows = rows.dropDuplicates(list(layout.identity)).repartition(1)
        rows = rows.sortWithinPartitions("path", layout.time, "revision")
        unfinished = f"{archive}/{DAILY}/.{date}.unfinished"
        # Small row groups: one path's rows of a day are read without the others'.
        writer = rows.write.mode("overwrite").options(**_FILE_OPTIONS).option("parquet.block.size", 8 << 20)
        writer.parquet(unfinished)
        _replace(spark, unfinished, daily)
        for file in landed:
            _delete(spark, file)
        done.append(date)
    return done


def _schema(layout: Layout) -> str:
    return ", ".join(f"{name} {kind}" for name, (_, kind) in layout.columns.items()) + ", row string"


def _dates(spark: SparkSession, folder: str) -> list[str]:
    files, path = hadoop(spark, folder)
    if not files.exists(path):
        return []
    names = (status.getPath().getName() for status in files.listStatus(path))
    return sorted(name.partition("=")[2] for name in names if name.startswith(f"{_DATE}="))


def _exists(spark: SparkSession, place: str) -> bool:
    files, path = hadoop(spark, place)
    return bool(files.exists(path))


def _files(spark: SparkSession, folder: str, settled_ms: int) -> list[str]:
    files, path = hadoop(spark, folder)
    newest_ms = wall_clock.now_ns() / 1e6 - settled_ms
    found = (status for status in files.listStatus(path) if status.getModificationTime() <= newest_ms)
    paths = (status.getPath() for status in found)
    return sorted(str(place) for place in paths if place.getName().endswith(".parquet"))


def _replace(spark: SparkSession, new: str, old: str) -> None:
    """Put a folder in place of another; a reader between the two steps still finds the landed files."""
    files, source = hadoop(spark, new)
    _, target = hadoop(spark, old)
    files.delete(target, True)
    if not files.rename(source, target):
        raise OSError(f"could not rename {new} to {old}; run the compaction again")


def _delete(spark: SparkSession, place: str) -> None:
    files, path = hadoop(spark, place)
    files.delete(path, True)
