"""What naming hops costs: the core alone with 20 minutes of polls, its query alone, the job with and without.

python tests/bench/attribution.py --quick is a small run, --only PART … runs some.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

# What the tests made is used here, too; the project itself goes first.
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import _attribution_load as load
import _lanes
import _streaming_live as live
from _job_processes import cpu_seconds
from _streaming_contestants import HEAP
from _streaming_feed import Feed
from rich.console import Console
from rich.table import Table
from spark_job import RULES

from collectors.contract.records import SECOND_NS
from deploy.embedded.programs.kafka import Kafka
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.jvm import artifacts
from streaming.attribution.groups import Groups
from streaming.attribution.intake import Intake, Record, encode_log
from streaming.spark import job
from streaming.spark.attribution_processor import LOG_BATCHES
from streaming.spark.attribution_query import attribution_query
from streaming.spark.query import Query
from streaming.spark.settings import JobSettings, KafkaAccess

PARTS = ("core", "query", "job")
PATHS, RATE = 200, 1_000
TRIGGER = 5  # seconds
WARM_SECONDS = 30
CORE_SECONDS = 1_200  # as long as polls are kept
LOST_EVERY = 20  # of the windows one has lost something
RESULT = Path(__file__).parents[2] / ".inflight" / "bench" / "attribution.json"

Figures = dict[str, float]


def main() -> None:
    """Run the parts, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small: to see that it works")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    told = parser.parse_args()
    os.nice(10)
    figures: Figures = {"paths": PATHS, "rate": RATE, "routers": load.ROUTERS}
    if "core" in told.only:
        figures |= core(60 if told.quick else CORE_SECONDS)
    if {"query", "job"} & set(told.only):
        with tempfile.TemporaryDirectory() as folder, Supervisor(Path(folder) / "stack") as supervisor:
            kafka = Kafka(supervisor).start()
            if "query" in told.only:
                figures |= alone(kafka, Path(folder), 20 if told.quick else 90)
            if "job" in told.only:
                figures |= in_the_job(kafka, Path(folder), 30 if told.quick else 75)
    _tell(figures)


def core(seconds: int) -> Figures:
    """CPU of a batch of 5 s in the end, of a snapshot, and of going on from it; all routers are one group."""
    intake = Intake(groups := Groups(load.places(PATHS)))
    took, logged, start = [], [], int(time.time()) // TRIGGER * TRIGGER
    for first in range(0, seconds, TRIGGER):
        batch = list(_batch(first, start))
        began = time.process_time()
        taken = intake.take(batch)
        logged.append(len(encode_log(taken.used)))
        took.append(time.process_time() - began)
    began = time.process_time()
    states = groups.states()
    encoding = time.process_time() - began
    again = Groups(load.places(PATHS))
    began = time.process_time()
    for name, state in states.items():
        again.restore(name, state)
    restoring = time.process_time() - began
    last = took[-min(len(took), 12) :]
    batch_seconds = sum(last) / len(last)
    return {
        "core_batch_seconds": batch_seconds,
        "core_worst_batch_seconds": max(took),
        "core_snapshot_seconds": encoding,
        "core_restore_seconds": restoring,
        "core_state_bytes": float(sum(map(len, states.values()))),
        "core_log_bytes_a_batch": sum(logged) / len(logged),
        "core_cores": (batch_seconds + encoding / LOG_BATCHES) / TRIGGER,
    }


def _batch(first: int, start: int) -> list[Record]:
    found = []
    for second in range(first, first + TRIGGER):
        told = [*load.polls(PATHS, second, start)]
        told += [load.live_record(number, second, start) for number in range(PATHS)]
        append_ns = (start + second) * SECOND_NS + 50_000_000
        found += [Record(append_ns, topic.suffix, 0, 0, key.encode(), value) for topic, key, value in told]
    for number in range(PATHS):
        lost = int((number + first // TRIGGER) % LOST_EVERY == 0)
        topic, key, value = load.window_record(number, start + first - TRIGGER, lost)
        at_ns = (start + first) * SECOND_NS
        found.append(Record(at_ns, topic.suffix, 0, 0, key.encode(), value))
    return [record._replace(offset=number) for number, record in enumerate(found)]


def alone(kafka: Kafka, folder: Path, seconds: int) -> Figures:
    """The cores of a session that runs nothing else, its own upkeep with it; windows are made by hand.

    It says what the query costs also where the machine is too small, or too busy, for the whole job.
    """
    kafka.make_topics("alone")
    settings = JobSettings(
        kafka=KafkaAccess(servers=(kafka.bootstrap,)),
        prefix="alone",
        checkpoint=str(folder / "alone"),
        default_rules=RULES,
        places=load.places(PATHS),
    )
    stop = threading.Event()
    teller = threading.Thread(target=_tell_all, args=(kafka.bootstrap, "alone", stop), daemon=True)
    spark = job.session(artifacts.ensure().jars("spark"), local_heap=HEAP)
    try:
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
        query = attribution_query(settings).start(spark, settings)
        teller.start()
        time.sleep(WARM_SECONDS)
        began, before = time.monotonic(), cpu_seconds()
        time.sleep(seconds)
        spent = {name: now - before[name] for name, now in cpu_seconds().items()}
        took = time.monotonic() - began
        batches = _lanes.batches(query)[-int(seconds / TRIGGER) :]
        query.stop()
    finally:
        stop.set()
        teller.join()
        spark.stop()
    return {
        "query_cores": sum(spent.values()) / took,
        **{f"query_{name}_cores": value / took for name, value in spent.items()},
        "query_batch_seconds": sum(batch.seconds for batch in batches) / len(batches),
        "query_records_a_second": sum(batch.records for batch in batches) / TRIGGER / len(batches),
    }


def in_the_job(kafka: Kafka, folder: Path, seconds: int) -> Figures:
    """The cores of the job under the same load: without, with, and without again; the machine changes."""
    figures: Figures = {}
    for name, within in (("without", False), ("with", True), ("without_again", False)):
        _say(f"the job, {name.replace('_', ' ')}")
        found = _measure(kafka, folder, name, seconds, within=within)
        figures |= {f"job_{name}_{key}": value for key, value in found.items()}
        _say(", ".join(f"{key} {value:.3g}" for key, value in found.items()))
    without = (figures["job_without_cores_used"] + figures["job_without_again_cores_used"]) / 2
    figures["attribution_cores"] = figures["job_with_cores_used"] - without
    figures["attribution_bound_cores"] = max(0.2, without / 4)
    return figures


def _measure(kafka: Kafka, folder: Path, name: str, seconds: int, *, within: bool) -> Figures:
    """Routers tell what they tell on both sides: it is in Kafka whether somebody reads it or not."""
    kafka.make_topics(name)
    stop = threading.Event()
    teller = threading.Thread(target=_tell_polls, args=(kafka.bootstrap, name, stop), daemon=True)
    spark = job.session(artifacts.ensure().jars("spark"), local_heap=HEAP)

    def more(settings: JobSettings) -> list[Query]:
        return [attribution_query(settings)] if within else []

    try:
        teller.start()
        places = load.places(PATHS)
        return live.measure(spark, kafka.bootstrap, name, folder, (PATHS, RATE, seconds), places, more)
    finally:
        stop.set()
        teller.join()
        spark.stop()


def _tell_all(bootstrap: str, prefix: str, stop: threading.Event) -> None:
    """Write what the job would read of the collectors, and of itself."""
    polls = threading.Thread(target=_tell_polls, args=(bootstrap, prefix, stop), daemon=True)
    polls.start()
    feed, start, second = Feed(bootstrap), int(time.time()), 0
    while not stop.wait(max(0.0, start + second - time.time())):
        for number in range(PATHS):
            told = [load.live_record(number, second, start)]
            if (second + number) % TRIGGER == 0:
                lost = int((number + second // TRIGGER) % LOST_EVERY == 0)
                window_start = (start + second) // TRIGGER * TRIGGER - 3 * TRIGGER
                told.append(load.window_record(number, window_start, lost))
            for topic, key, value in told:
                feed.send(topic.name(prefix), key, value)
        feed.flush()
        second += 1
    polls.join()


def _tell_polls(bootstrap: str, prefix: str, stop: threading.Event) -> None:
    feed, start, second = Feed(bootstrap), int(time.time()), 0
    while not stop.wait(max(0.0, start + second - time.time())):
        for topic, key, value in load.polls(PATHS, second, start):
            feed.send(topic.name(prefix), key, value)
        feed.flush()
        second += 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell(figures: Figures) -> None:
    table = Table("figure", "value")
    table.columns[1].justify = "right"
    for name, value in figures.items():
        table.add_row(name, f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}")
    Console().print(table)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    RESULT.write_text(json.dumps({**before, **figures}, indent=1, sort_keys=True) + "\n")
    _say(f"wrote {RESULT}")


if __name__ == "__main__":
    main()
