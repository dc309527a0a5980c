"""The attribution as a query of the job: what comes on five topics, over restarts, and in its way."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bombs
import counting_attribution
import made_drop
import made_rows
import pytest
from counting_attribution import PLACES, CountingAttribution, event, poll
from helpers import wait_until
from kafka import TopicPartition
from kafka_topics import consume
from pyspark import cloudpickle
from spark_job import RULES, get, letters, metric, not_ready, produce, running
from synthetic import Flow

from collectors.contract import attribution_rows, events, topics, window_rows
from collectors.contract.topics import ATTRIBUTION
from streaming.attribution.places import Place
from streaming.spark import job
from streaming.spark.attribution_query import attribution_query
from streaming.spark.lanes import Layout
from streaming.spark.offset_log import OffsetLog
from streaming.spark.query import Query
from streaming.spark.service import MakeQueries
from streaming.spark.settings import JobSettings, KafkaAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

HERE = 'query="attribution"'
LENGTH = made_rows.LENGTH


@functools.cache
def now() -> int:
    """Where windows begin: asked for by the first test, as windows of long ago are not looked at."""
    return time.time_ns() // LENGTH * LENGTH


class Refusing(CountingAttribution):
    """One that can go on from no state."""

    def __init__(self, places: Mapping[str, Place], state: bytes | None = None) -> None:
        if state is not None:
            raise ValueError("the state is of version 9, this version reads 1")
        super().__init__(places)


@pytest.fixture(autouse=True)
def _workers_know_the_stand_in() -> Iterator[None]:
    """Python's workers have no tests on their way."""
    module = __import__(__name__)
    for each in (counting_attribution, module):
        cloudpickle.register_pickle_by_value(each)
    yield
    for each in (counting_attribution, module):
        cloudpickle.unregister_pickle_by_value(each)


@pytest.fixture
def settings(kafka: Kafka, tmp_path: Path) -> JobSettings:
    """A job with topics and a checkpoint of its own."""
    prefix = f"hops-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix)
    return JobSettings(
        kafka=KafkaAccess(servers=(kafka.bootstrap,)),
        prefix=prefix,
        checkpoint=str(tmp_path / "checkpoint"),
        default_rules=RULES,
        places=PLACES,
        lanes=1,
        trigger_ms=200,
        attribution_trigger_ms=200,
        listen="127.0.0.1:0",
    )


def alone(make: Any = CountingAttribution, log_batches: int = 24) -> MakeQueries:
    """No accounting beside it: rows of windows are made by hand."""

    def queries(settings: JobSettings, _: Layout) -> list[Query]:
        return [attribution_query(settings, make, log_batches)]

    return queries


def put(settings: JobSettings, *records: tuple[topics.Topic, str, bytes]) -> None:
    """Each is there, and read before the next one is written if its topic is another."""
    for topic, key, value in records:
        produce(settings.kafka.servers[0], topic.name(settings.prefix), [(key, value)])


def window(number: int, **fields: Any) -> tuple[topics.Topic, str, bytes]:
    row = made_rows.window("one", window_start_ns=now() + number * LENGTH, mesh="east", **fields)
    return topics.WINDOWS, "one", window_rows.encode(row)


def router(number: int) -> tuple[topics.Topic, str, bytes]:
    return topics.ROUTER, "east/A", poll("east", poll=number).encode()


def begun(settings: JobSettings) -> bool:
    """Whether the query has fixed where it begins to read: it takes what comes from then on."""
    return (Path(settings.checkpoint) / "attribution" / "sources" / "0" / "0").exists()


def rows(settings: JobSettings) -> list[tuple[int, int, int]]:
    """Of each row in Kafka: the window's number, what it lost, how much the group was fed with till then."""
    found = []
    for message in consume(settings.kafka.servers[0], ATTRIBUTION.name(settings.prefix)):
        row = attribution_rows.decode(message.value)
        assert message.key.decode() == row["path"]
        found.append(((row["episode_ns"] - now()) // LENGTH, row["lost"], row["sent"]))
    return sorted(found)


def read(url: str) -> float:
    return metric(url, f"inflight_stream_records_total{{{HERE}}}")


def dead(url: str, reason: str) -> float:
    return metric(url, f'inflight_stream_dead_letters_total{{{HERE},reason="{reason}"}}')


def until(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, 120, what, every_seconds=0.2)


def test_a_lost_window_and_a_router_that_dropped_are_a_row(
    spark: SparkSession, settings: JobSettings
) -> None:
    """It names the hop, with the sum; each poll is read in whatever batch it comes."""
    given = dataclasses.replace(settings, places={"one": made_drop.PLACE})
    with running(spark, given, lambda told, _: [attribution_query(told)]) as url:
        until(lambda: begun(settings), "the query to begin")
        start_ns = now() - 40 * made_drop.SECOND
        put(settings, (topics.LIVE, "one", window_rows.encode(made_drop.live(start_ns))))
        put(settings, *((topics.ROUTER, "m/A", each.encode()) for each in made_drop.polls(start_ns)))
        put(settings, (topics.WINDOWS, "one", window_rows.encode(made_drop.window(start_ns))))
        until(lambda: len(told_hops(settings)) > 0, "a row")
        assert metric(url, f"inflight_stream_restarts_total{{{HERE}}}") == 0
    (lost, said, hop, cause), *_ = told_hops(settings)
    assert (lost, said, hop, cause) == (made_drop.LOST, made_drop.LOST, made_drop.HOP, "dropped")


def told_hops(settings: JobSettings) -> list[tuple[int, int, str, str]]:
    """Of each row what was lost, and of its first hop what it explains, its name and the cause."""
    messages = consume(settings.kafka.servers[0], ATTRIBUTION.name(settings.prefix))
    found = [attribution_rows.decode(message.value) for message in messages]
    firsts = [(row["lost"], hop) for row in found for hop in row["hops"][:1]]
    return [(lost, hop["said"], hop["hop"], hop["cause"]) for lost, hop in firsts]


def test_rows_come_of_five_topics_and_junk_is_put_aside(spark: SparkSession, settings: JobSettings) -> None:
    """Whatever is in the topics, the query goes on; it is told, with its reason, and counted."""
    ends = [{**end, "peer": ""} for end in made_rows.live()["ends"]]
    live = window_rows.encode(made_rows.live("one", mesh="east", ends=ends))
    broker = poll("east", "store", entity="queue").encode()
    junk = [(topic, "junk", b"junk") for topic in (topics.WINDOWS, topics.LIVE, topics.ROUTER)]
    junk += [(topics.BROKER, "junk", b"\xff\x00"), (topics.EVENTS, "junk", b"[[[[")]
    told = (topics.EVENTS, "", events.encode(event()))
    with running(spark, settings, alone()) as url:
        until(lambda: begun(settings), "the query to begin")
        put(settings, *junk, router(1), (topics.BROKER, "k", broker), (topics.LIVE, "one", live), told)
        until(lambda: read(url) == 9, "all of it to be read")
        put(settings, window(0, lost=3))
        until(lambda: len(rows(settings)) == 1, "the row")
        for topic in (topics.WINDOWS, topics.LIVE, topics.ROUTER, topics.BROKER, topics.EVENTS):
            assert dead(url, topic.suffix) == 1
        assert metric(url, f"inflight_stream_restarts_total{{{HERE}}}") == 0
        assert get(f"{url}/-/ready") == "ready\n"
        assert f'dead_letters_total{{{HERE},reason="state"}} 0.0' in get(f"{url}/metrics")
    assert rows(settings) == [(0, 3, 5)]  # a poll of each kind, a live row, an event, the window
    found = letters(settings.kafka.servers[0], settings.dead_letters_topic)
    assert {one["reason"] for one in found} == {"windows", "live", "router", "broker", "events"}
    assert {one["detail"].partition(":")[0] for one in found} == {
        f"{settings.prefix}.{one['reason']}" for one in found
    }


@pytest.mark.parametrize("log_batches", [0, 2, 24])
def test_a_restart_changes_no_row(spark: SparkSession, settings: JobSettings, log_batches: int) -> None:
    """Where nothing but the checkpoint is left of what was known: of a snapshot, of the log, or of both."""
    queries = alone(log_batches=log_batches)
    with running(spark, settings, queries) as url:
        until(lambda: begun(settings), "the query to begin")
        for number in range(4):
            put(settings, router(number), window(number, lost=number % 2))
            until(lambda number=number: read(url) == 2 * number + 2, "both to be read")
    moved = dataclasses.replace(settings, checkpoint=f"{settings.checkpoint}-moved")
    shutil.copytree(settings.checkpoint, moved.checkpoint)
    put(settings, router(4), window(4, lost=4))
    with running(spark, moved, queries) as url:
        until(lambda: len(rows(settings)) == 3, "the row of what came meanwhile")
        put(settings, window(5, lost=5))
        until(lambda: len(rows(settings)) == 4, "the rows of all windows with losses")
        assert dead(url, "state") == 0
    assert rows(settings) == [(1, 1, 4), (3, 1, 8), (4, 4, 10), (5, 5, 11)]


def test_a_state_that_cannot_be_read_is_told_and_left(spark: SparkSession, settings: JobSettings) -> None:
    """The groups begin anew; the query does not fail of it, now or at the next start."""
    with running(spark, settings, alone(log_batches=0)) as url:
        until(lambda: begun(settings), "the query to begin")
        put(settings, router(1))
        until(lambda: read(url) == 1, "the poll to be read")
    moved = dataclasses.replace(settings, checkpoint=f"{settings.checkpoint}-moved")
    shutil.copytree(settings.checkpoint, moved.checkpoint)
    with running(spark, moved, alone(Refusing)) as url:
        put(settings, window(0, lost=1))
        until(lambda: len(rows(settings)) == 1, "a row")
        until(lambda: dead(url, "state") == 2, "it to be counted")
        assert metric(url, f"inflight_stream_restarts_total{{{HERE}}}") == 0
    assert rows(settings) == [(0, 1, 1)]
    found = letters(settings.kafka.servers[0], settings.dead_letters_topic)
    assert [one["detail"] for one in found] == [
        f"the attribution of the group {group} begins anew: its state cannot be read: ValueError: "
        "the state is of version 9, this version reads 1"
        for group in ("east", "north")
    ]


def test_a_batch_that_cannot_be_held_is_passed_over(spark: SparkSession, settings: JobSettings) -> None:
    """Of any of the five topics; what lies before the query's begin is not even looked at."""
    bootstrap, (query,) = settings.kafka.servers[0], alone()(settings, Layout(1, 12))
    bomb = bombs.batch(bombs.ZSTD, [900 << 20])
    before = TopicPartition(topics.ROUTER.name(settings.prefix), 0)
    ahead = TopicPartition(topics.BROKER.name(settings.prefix), 3)
    assert bombs.produce(bootstrap, *before, bomb) == 0
    with running(spark, settings, alone()) as url:
        until(lambda: begun(settings), "the query to begin")
        put(settings, router(1))
        until(lambda: read(url) == 1, "the poll to be read")
    # As after the JVM's death of it: the batch is planned, and not done.
    assert bombs.produce(bootstrap, *ahead, bomb) == 0
    folder = Path(query.folder(settings.checkpoint))
    for file in (*(folder / "commits").glob("*[0-9]*"), *(folder / "offsets").glob("*[1-9]*")):
        file.unlink()
    log = OffsetLog(spark, str(folder), query.reads)
    plan = log.newest()
    assert plan is not None
    assert (plan.number, plan.done) == (0, False)
    assert plan.start is not None
    assert plan.start[before] == 1
    log.put(0, plan.ends | {ahead: 1}, like=0)
    with running(spark, settings, alone()) as url:
        until(lambda: dead(url, "inflated") == 1, "it to be passed over")
        put(settings, window(0, lost=1))
        until(lambda: len(rows(settings)) == 1, "the row of what came after")
        assert metric(url, f"inflight_stream_restarts_total{{{HERE}}}") == 0
    assert rows(settings) == [(0, 1, 2)]
    (letter,) = letters(bootstrap, settings.dead_letters_topic)
    assert letter["reason"] == "inflated"
    assert letter["detail"].startswith(f"{ahead.topic}, partition 3, offsets 0 to 0: ")


def test_an_older_installation_goes_on(spark: SparkSession, settings: JobSettings, kafka: Kafka) -> None:
    """Its checkpoint knows no such query, and the topic is missing: the accounting waits for neither.

    What is missing is told, and how to make it; then the query begins with what comes.
    """
    prefix = f"older-{uuid.uuid4().hex[:8]}"
    older = dataclasses.replace(settings, prefix=prefix)
    kafka.make_topics(prefix, [topic for topic in topics.ALL if topic is not ATTRIBUTION])
    flow = Flow("path", 20)

    def before(settings: JobSettings, layout: Layout) -> list[Query]:
        return [query for query in job.queries(settings, layout) if query.name != "attribution"]

    def after(settings: JobSettings, layout: Layout) -> list[Query]:
        return [*before(settings, layout), attribution_query(settings, CountingAttribution)]

    with running(spark, older, before) as url:
        count = produce(kafka.bootstrap, older.samples_topic, [("path", one) for one in flow.second(0)])
        until(lambda: metric(url, "inflight_stream_records_total") == count, "the records to be read")
    put(older, router(0), window(0, lost=1))
    with running(spark, older, after) as url:
        missing = f"query attribution waits, the others go on: there is no topic {prefix}.attribution; "
        until(lambda: missing + "`inflight probe --create-topics` makes it" in not_ready(url), "the reason")
        count = produce(kafka.bootstrap, older.samples_topic, [("path", one) for one in flow.second(1)])
        lane = 'inflight_stream_records_total{query="accounting-0"}'
        until(lambda: metric(url, lane) == count, "the records to be read")
        kafka.make_topics(prefix, [ATTRIBUTION])
        until(lambda: begun(older), "the query to begin")
        put(older, router(1), window(1, lost=2))
        until(lambda: rows(older) == [(1, 2, 2)], "the row of what came since")
        until(lambda: get(f"{url}/-/ready") == "ready\n", "the job to be ready")
        assert metric(url, f"inflight_stream_restarts_total{{{HERE}}}") == 0
