"""The job at a steady load in real time: how long batches take, how old results are when they are seen."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import _lanes
from _job_processes import cpu_seconds
from _streaming_feed import Feed, live_records, path_name, second_end_ns
from kafka import KafkaConsumer, TopicPartition
from prometheus_client import CollectorRegistry
from pyspark.sql import SparkSession
from spark_job import RULES

from collectors.config.load import parse
from collectors.contract import window_rows
from collectors.contract.records import SECOND_NS
from streaming.attribution.places import Place
from streaming.exporter import Exporter
from streaming.sizing import cores
from streaming.spark.query import Query
from streaming.spark.settings import JobSettings, KafkaAccess

WARM_SECONDS = 12  # of the load; start-up and compilation are not counted
_PUBLISHED_NS = 60_000_000  # a probe publishes a second so long after its end
_READY = 3  # seconds before the load begins
_GRID = 20  # moments within each second at which a message may have been received


def measure(
    spark: SparkSession,
    bootstrap: str,
    prefix: str,
    folder: Path,
    load: tuple[int, int, int],
    places: Mapping[str, Place] | None = None,
    more: Callable[[JobSettings], Iterable[Query]] = lambda _: (),
) -> dict[str, float]:
    """`load`: paths, samples a second of each, seconds. Freshness: until an exporter applied it.

    `more` are queries beside those of the accounting, which have the settings with these places.
    """
    paths, rate, seconds = load
    start = int(time.time()) + 10 + int(seconds * (paths * rate / 500_000 + paths / 2_500))  # to make them
    made = live_records(paths, rate, seconds, start)
    if time.time() > start - _READY:
        raise RuntimeError("the machine is too slow to make these records before they are due")
    settings = JobSettings(
        kafka=KafkaAccess(servers=(bootstrap,)),
        prefix=prefix,
        checkpoint=str(folder / prefix),
        default_rules=RULES,
        places=places or {},
        lanes=min(cores(paths, paths * rate), os.cpu_count() or 1),
        max_records=10 * 2 * paths,
    )
    lanes = _lanes.start(spark, settings)
    queries = [*lanes, *(query.start(spark, settings) for query in more(settings))]
    seen: dict[str, list[tuple[int, int]]] = {}
    stop = threading.Event()
    reader = threading.Thread(target=_export, args=(bootstrap, settings.live_topic, seen, stop), daemon=True)
    reader.start()
    spent: list[tuple[float, float]] = []
    _send(bootstrap, settings.samples_topic, made, start, spent)
    time.sleep(6)
    batches = [batch for query in lanes for batch in _lanes.batches(query)]
    stop.set()
    _lanes.stop(queries)
    reader.join(10)
    ages = sorted(_ages(seen, load, start, time.time_ns()))
    took = sorted(batch.seconds for batch in batches if batch.began >= start + WARM_SECONDS)
    took = took or [float(seconds)]
    return {
        "freshness_p50_seconds": ages[len(ages) // 2],
        "freshness_p99_seconds": ages[len(ages) * 99 // 100],
        "batch_seconds": statistics.median(took),
        "batch_p99_seconds": took[len(took) * 99 // 100],
        "batches": float(len(took)),
        "cores_used": (spent[-1][1] - spent[0][1]) / (spent[-1][0] - spent[0][0]),
    }


def _send(
    bootstrap: str,
    topic: str,
    made: list[list[tuple[str, bytes]]],
    start: int,
    spent: list[tuple[float, float]],
) -> None:
    """Send each second's records as it ends; note the job's CPU in `spent` once it is warm."""
    feed = Feed(bootstrap)
    for second, records in enumerate(made):
        wait_ns = second_end_ns(start, second) + _PUBLISHED_NS - time.time_ns()
        time.sleep(max(0, wait_ns) / SECOND_NS)
        for path, value in records:
            feed.send(topic, path, value)
        feed.flush()
        if second >= WARM_SECONDS:
            spent.append((time.monotonic(), sum(cpu_seconds().values())))


def _export(
    bootstrap: str, topic: str, seen: dict[str, list[tuple[int, int]]], stop: threading.Event
) -> None:
    exporter = Exporter(parse("version: 1\nsite: bench\n", "bench.yaml"), CollectorRegistry())
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None)
    parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
    consumer.assign(parts)
    consumer.seek_to_end(*parts)
    while not stop.is_set():
        for batch in consumer.poll(timeout_ms=200).values():
            for message in batch:
                row = window_rows.decode_live(message.value)
                exporter.apply_live(row)
                seen.setdefault(row["path"], []).append((row["last_received_ns"] or 0, time.time_ns()))
    consumer.close()


def _ages(
    seen: dict[str, list[tuple[int, int]]], load: tuple[int, int, int], start: int, ended_ns: int
) -> list[float]:
    """Of messages received evenly over each second: until a row that has that second's last one is there.

    What was never seen counts as seen at the end: the true age is more.
    """
    paths, _, seconds = load
    found = []
    for number in range(paths):
        visible = seen.get(path_name(number), [])
        at = 0
        for second in range(WARM_SECONDS, seconds - 1):
            # The last message of a second may be a few milliseconds before its end.
            until_ns = second_end_ns(start, second) - SECOND_NS // 10
            while at < len(visible) and visible[at][0] < until_ns:
                at += 1
            end_ns = second_end_ns(start, second)
            seen_ns = visible[at][1] if at < len(visible) else ended_ns
            found += [(seen_ns - end_ns) / 1e9 + step / _GRID for step in range(_GRID)]
    return found
