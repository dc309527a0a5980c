"""Who reads the topic how fast: each contestant is run by itself, in a process of its own.

python _streaming_contestants.py NAME BOOTSTRAP TOPIC RECORDS DIR: one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import _lanes
import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery
from spark_job import RULES

from collectors.contract.record_codec import decode
from collectors.contract.records import SECOND_NS
from deploy.jvm import artifacts
from streaming.spark import job
from streaming.spark.accounting_query import FETCH
from streaming.spark.settings import JobSettings, KafkaAccess

HEAP = "2g"
BATCH_RECORDS = 24_000  # as `inflight stream` chooses for this load
JSON_BATCH = 1_000_000
WARM_SECONDS = 15.0  # of batches: start-up and compilation are not counted ...
WARM_SHARE = 0.4  # ... nor this share of all, where somebody is through sooner
ENOUGH_SECONDS = 45.0
WINDOW = "5 seconds"
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
EXPLODED = "path string, seq long, sent timestamp, latency long"


def measure(name: str, bootstrap: str, topic: str, records: int, folder: Path) -> dict[str, float]:
    """Samples a second in the steady state, and the seconds over which they were measured."""
    if name in {"plain", "bytewax"}:
        return PLAIN[name](bootstrap, topic, records)
    tuned = name in {"inflight", "tuned"}
    spark = job.session(artifacts.ensure().jars("spark"), local_heap=HEAP) if tuned else _as_it_comes()
    try:
        started = SPARK[name](spark, bootstrap, topic, folder)
        queries = started if isinstance(started, list) else [started]
        found = _watch(queries, records, per_record=1 if name == "json" else 0)
        _lanes.stop(queries)
    finally:
        spark.stop()
    return found


def _as_it_comes() -> SparkSession:
    """Return a session with Spark's own settings, and as much memory as the job has."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = ",".join(str(jar) for jar in artifacts.ensure().jars("spark"))
    builder: Any = SparkSession.builder.master("local[*]").config("spark.jars", jars)
    for key, value in (
        ("spark.driver.memory", HEAP),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"),
        ("spark.ui.enabled", "false"),
        ("spark.sql.session.timeZone", "UTC"),
    ):
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    return spark


def _watch(queries: list[StreamingQuery], records: int, per_record: int) -> dict[str, float]:
    """Run queries until all or enough is read; the rate is their sum while all of them are busy."""
    spent: dict[int, float] = {}  # CPU seconds when so many records were through
    while True:
        time.sleep(1)
        each = [_lanes.batches(query) for query in queries]
        batches = [batch for of_query in each for batch in of_query]
        through = sum(batch.records for batch in batches)
        spent[through] = cpu_seconds()
        elapsed = max((batch.ended for batch in batches), default=0.0) - _first(batches)
        if through >= records or elapsed >= WARM_SECONDS + ENOUGH_SECONDS:
            break
    from_time = _first(batches) + min(WARM_SECONDS, WARM_SHARE * elapsed)
    until = min(of_query[-1].ended for of_query in each)
    counted = [[b for b in of_query if b.began >= from_time and b.ended <= until] for of_query in each]
    rate = sum(sum(b.records for b in own) / (own[-1].ended - own[0].began) for own in counted)
    # Half of the records hold samples, the others are ledgers.
    samples_a_record = per_record or int(os.environ["SAMPLES_PER_RECORD"]) / 2
    steady = [batch for own in counted for batch in own]
    found = {
        "samples_per_second": rate * samples_a_record,
        "seconds": until - from_time,
        "batches": float(len(steady)),
    }
    before = sum(batch.records for batch in batches if batch.began < from_time)
    measured = [(through, cpu) for through, cpu in sorted(spent.items()) if through >= before]
    (first, first_cpu), (last, last_cpu) = measured[0], measured[-1]
    if last > first:
        found["cpu_seconds_a_million"] = (last_cpu - first_cpu) / (last - first) / samples_a_record * 1e6
    for phase in ("addBatch", "queryPlanning", "walCommit", "commitOffsets", "latestOffset"):
        found[f"{phase}_seconds"] = sum(b.phases.get(phase, 0.0) for b in steady) / len(steady)
    return found


def _first(batches: list[_lanes.Batch]) -> float:
    return min((batch.began for batch in batches), default=0.0)


def cpu_seconds() -> float:
    """Return the CPU seconds so far of this process and all that it started."""
    session, ticks = os.getsid(0), 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _settings(bootstrap: str, topic: str, folder: Path) -> JobSettings:
    return JobSettings(
        kafka=KafkaAccess(servers=(bootstrap,)),
        prefix=topic.removesuffix(".samples"),
        checkpoint=str(folder / "inflight"),
        default_rules=RULES,
        lanes=os.cpu_count() or 1,
        trigger_ms=1,
        max_records=BATCH_RECORDS,
    )


def _inflight(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> Any:
    return _lanes.start(spark, _settings(bootstrap, topic, folder))


def _read(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    limit: int = BATCH_RECORDS,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", limit).options(**options or {}).load()


def _limit(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> Any:
    return _start(_read(spark, bootstrap, topic).writeStream.format("noop"), folder / "limit")


def _tuned(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> Any:
    """The limit again, with the job's session and its way to fetch."""
    source = _read(spark, bootstrap, topic, options=FETCH)
    return _start(source.writeStream.format("noop"), folder / "tuned")


def _usual(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> Any:
    exploded = _read(spark, bootstrap, topic).select("value").mapInArrow(_explode, EXPLODED)
    return _windows(exploded, bootstrap, topic, folder / "usual")


def _json(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> Any:
    source = _read(spark, bootstrap, topic, JSON_BATCH)
    schema = "path string, seq long, sent_ns long, received_ns long"
    sample = sql.from_json(source["value"].cast("string"), schema)
    rows = source.select(sample.alias("s")).select(
        "s.path",
        "s.seq",
        sql.timestamp_micros((sql.col("s.sent_ns") / 1000).cast("long")).alias("sent"),
        (sql.col("s.received_ns") - sql.col("s.sent_ns")).alias("latency"),
    )
    return _windows(rows, bootstrap, topic, folder / "json")


def _windows(rows: DataFrame, bootstrap: str, topic: str, checkpoint: Path) -> Any:
    """Spark as in tutorials: watermark, window, approximate percentiles and distinct numbers."""
    grouped = rows.withWatermark("sent", "10 seconds").groupBy(sql.window("sent", WINDOW), "path")
    results = grouped.agg(
        sql.percentile_approx("latency", list(SHARES), 10_000).alias("percentiles"),
        sql.max("latency").alias("max"),
        sql.count(sql.lit(1)).alias("received"),
        sql.approx_count_distinct("seq").alias("distinct"),
    )
    out = results.select(sql.col("path").alias("key"), sql.to_json(sql.struct("*")).alias("value"))
    writer = out.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return _start(
        writer.option("topic", f"{topic.rsplit('.', 1)[0]}.windows").outputMode("append"), checkpoint
    )


def _start(writer: Any, checkpoint: Path) -> Any:
    return (
        writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="1 millisecond").start()
    )


def _explode(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 -- in the worker

    for batch in batches:
        for value in batch.column(0):
            record = decode(value.as_py())
            received = record.received
            if received is None:
                continue
            sent = pa.array(received.sent_ns // 1000, pa.timestamp("us", "UTC"))
            latency = pa.array(received.received_ns - received.sent_ns)
            path = pa.array([record.header.path] * len(received.seq))
            yield pa.record_batch(
                [path, pa.array(received.seq), sent, latency], ["path", "seq", "sent", "latency"]
            )


def _plain(bootstrap: str, topic: str, records: int) -> dict[str, float]:
    """A consumer in Python that records each latency in an HdrHistogram of its path and window."""
    from confluent_kafka import Consumer  # noqa: PLC0415 -- of the extra `bench`
    from hdrh.histogram import HdrHistogram  # noqa: PLC0415 -- only here

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"plain-{time.time_ns()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    histograms: dict[tuple[str, int], Any] = {}
    samples, left, began, cpu = 0, records, 0.0, cpu_seconds()
    while left > 0 and (not began or time.perf_counter() - began < ENOUGH_SECONDS):
        messages = consumer.consume(500, 1.0)
        began = began or time.perf_counter()
        for message in messages:
            record = decode(message.value())
            left -= 1
            if record.received is None:
                continue
            key = record.header.path, record.header.second // 5
            histogram = histograms.get(key) or histograms.setdefault(
                key, HdrHistogram(1, 3_600 * SECOND_NS, 3)
            )
            for latency in (record.received.received_ns - record.received.sent_ns).tolist():
                histogram.record_value(latency)
            samples += len(record.received.seq)
    seconds = time.perf_counter() - began
    consumer.close()
    return _plainly(samples, seconds, cpu_seconds() - cpu)


def _bytewax(bootstrap: str, topic: str, records: int) -> dict[str, float]:
    """Bytewax, its best case: percentiles only, of latencies gathered as arrays by path and window."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 -- only here

    import bytewax.operators as op  # noqa: PLC0415 -- of the extra `bench`
    import bytewax.operators.windowing as win  # noqa: PLC0415 -- the same
    from bytewax.connectors.kafka import operators as kop  # noqa: PLC0415 -- the same
    from bytewax.dataflow import Dataflow  # noqa: PLC0415 -- the same
    from bytewax.testing import TestingSink, run_main  # noqa: PLC0415 -- the same

    counted = {"samples": 0, "records": 0}
    moments: list[float] = []

    def parse(message: Any) -> tuple[str, Any] | None:
        moments.append(time.perf_counter())
        record = decode(message.value)
        counted["records"] += 1
        if record.received is None:
            return None
        counted["samples"] += len(record.received.seq)
        at = datetime.fromtimestamp(record.header.second, UTC)
        return record.header.path, (at, record.received.received_ns - record.received.sent_ns)

    def add(kept: list[Any], value: Any) -> list[Any]:
        kept.append(value[1])
        return kept

    flow = Dataflow("bench")
    read = kop.input("in", flow, brokers=[bootstrap], topics=[topic], tail=False)
    parsed = op.filter_map("parse", read.oks, parse)
    clock = win.EventClock(ts_getter=lambda value: value[0], wait_for_system_duration=timedelta(seconds=10))
    windower = win.TumblingWindower(length=timedelta(seconds=5), align_to=datetime(2020, 1, 1, tzinfo=UTC))
    folded = win.fold_window("fold", parsed, clock, windower, list, add, lambda one, two: one + two)
    results = op.map("percentiles", folded.down, lambda kept: np.quantile(np.concatenate(kept[1][1]), SHARES))
    op.output("out", results, TestingSink([]))
    cpu = cpu_seconds()
    run_main(flow)
    seconds = moments[-1] - moments[0]
    if counted["records"] != records:
        raise RuntimeError(f"bytewax read {counted['records']} of {records} records")
    return _plainly(counted["samples"], seconds, cpu_seconds() - cpu)


def _plainly(samples: int, seconds: float, cpu: float) -> dict[str, float]:
    return {
        "samples_per_second": samples / seconds,
        "seconds": seconds,
        "cpu_seconds_a_million": cpu / samples * 1e6,
    }


SPARK: dict[str, Callable[[SparkSession, str, str, Path], Any]] = {
    "inflight": _inflight,
    "limit": _limit,
    "tuned": _tuned,
    "usual": _usual,
    "json": _json,
}
PLAIN: dict[str, Callable[[str, str, int], dict[str, float]]] = {"plain": _plain, "bytewax": _bytewax}

if __name__ == "__main__":
    who, at, topic_name, how_many, place = sys.argv[1:]
    print(json.dumps(measure(who, at, topic_name, int(how_many), Path(place))))  # noqa: T201 -- for the caller
