"""The way around batches that unpack to more than a job can hold.

A kilobyte in Kafka may be a gigabyte unpacked. Kafka's client unpacks what it gets, the JVM dies of it, and
again after each restart, since Spark reads again what it had planned. So a plan that was not carried out is
looked through before it is tried again, within a bound: it is cut off before such a batch, and the batch is
passed over and told as a dead letter once what is before it is done. What is left is read batch by batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError

from collectors.kafka import batches
from collectors.kafka.connect import connect
from streaming.shard.outputs import Input, dead_letter
from streaming.spark.kafka_options import client_settings
from streaming.spark.offset_log import Ends, OffsetLog
from streaming.spark.settings import JobSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log: Final = logging.getLogger("inflight.stream")

REASON: Final = "inflated"
# Spark's options for it. With one of Kafka's batches at a time the client unpacks none behind the plan.
CAREFUL: Final = {"kafka.max.partition.fetch.bytes": 1}
PIECE_BYTES: Final = 64 << 20  # unpacked, of all lanes at once: little, as more of it may have failed
_POLL_MS: Final = 1_000
_PATIENCE: Final = 15  # polls in which nothing comes
_REQUEST_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Passed:
    """A batch of Kafka's that is not read."""

    partition: int
    first: int
    following: int
    append_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class _Measured:
    first: int
    bytes: int
    refused: str | None


class Detour:
    """Of one query: to be asked before each start of it."""

    def __init__(self, settings: JobSettings, query: str, topic: str, lanes: int = 1) -> None:
        self._settings, self._topic = settings, topic
        self._place = f"{settings.checkpoint.rstrip('/')}/{query}"
        self._most_bytes = max(PIECE_BYTES // lanes, batches.MOST_BYTES)
        self._goal: Ends | None = None  # where the plan ended that was not carried out
        self._passing: list[Passed] = []  # what comes behind the newest plan

    def plan(self, spark: SparkSession) -> tuple[bool, list[Passed]]:
        """Whether a batch is planned, to be run alone and with care; and what is passed over from now on.

        KafkaError, AccessError or CheckpointError where that cannot be told.
        """
        log = OffsetLog(spark, self._place, self._topic)
        newest = log.newest()
        if newest is None:
            return False, []
        if newest.done and self._goal is None:
            if anew := self._made_anew(newest.ends):
                log.put(newest.number, newest.ends | anew, like=newest.number)
            return False, []
        passed: list[Passed] = []
        if newest.done:
            passed, self._passing = self._passing, []
            start = newest.ends | {one.partition: one.following for one in passed}
            if passed:
                self._tell(passed)
                log.put(newest.number, start, like=newest.number)
        else:
            start = newest.start or {}
            self._goal = self._goal or newest.ends
        goal = self._goal or {}
        if newest.done and all(start[partition] >= end for partition, end in goal.items()):
            self._goal = None
            if anew := self._made_anew(start):
                log.put(newest.number, start | anew, like=newest.number)
            return False, passed
        ends, self._passing = self._look(start, goal)
        log.put(newest.number + newest.done, ends, like=newest.number)
        return True, passed

    def _made_anew(self, place: Ends) -> Ends:
        """Where to begin in partitions that end before the query's place, which Spark would take for read."""
        with self._reader() as reader:
            places = {partition: TopicPartition(self._topic, partition) for partition in place}
            first, last = reader.beginning_offsets(places.values()), reader.end_offsets(places.values())
        anew = {number: first[each] for number, each in places.items() if place[number] > last[each]}
        if anew:
            _log.warning("%s was made anew: reading partitions %s from their beginning", self._topic, [*anew])
        return anew

    def _look(self, start: Ends, goal: Ends) -> tuple[Ends, list[Passed]]:
        """How far the next batch may go, and what is to be passed over behind it."""
        with self._reader() as reader:
            return self._measured(reader, start, goal)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        reader = connect(
            batches.BoundedConsumer,
            read=_measure,
            **client_settings(self._settings.kafka),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
            check_crcs=False,  # Spark's own client will
            fetch_max_bytes=8 << 20,
            bootstrap_timeout_ms=_REQUEST_MS,
            request_timeout_ms=_REQUEST_MS,
        )
        try:
            yield reader
        finally:
            reader.close()

    def _measured(self, reader: Any, start: Ends, goal: Ends) -> tuple[Ends, list[Passed]]:
        places = {partition: TopicPartition(self._topic, partition) for partition in goal}
        first, last = reader.beginning_offsets(places.values()), reader.end_offsets(places.values())
        at = {number: max(start.get(number, 0), first[place]) for number, place in places.items()}
        left = {number for number, place in places.items() if at[number] < min(goal[number], last[place])}
        reader.assign([places[number] for number in left])
        for number in left:
            reader.seek(places[number], at[number])
        ends, passing, room_bytes, idle = dict(goal), list[Passed](), self._most_bytes, 0
        while left:
            idle += 1
            if idle > _PATIENCE:
                raise KafkaTimeoutError(f"Kafka gives nothing of {self._topic}, partitions {sorted(left)}")
            # One at a time: what is unpacked is at hand only while it is measured.
            for record in (one for some in reader.poll(_POLL_MS, max_records=1).values() for one in some):
                idle, number, following = 0, record.partition, record.offset + 1
                found: _Measured = record.value
                room_bytes -= found.bytes
                if room_bytes < 0:
                    return ends | {one: at[one] for one in left}, passing
                if found.refused is not None:
                    ends[number] = max(found.first, at[number])
                    passing.append(Passed(number, found.first, following, record.timestamp, found.refused))
                at[number] = following
                if found.refused is not None or following >= min(goal[number], last[places[number]]):
                    left.discard(number)
                    reader.pause(places[number])
        return ends, passing

    def _tell(self, passed: list[Passed]) -> None:
        producer = connect(
            KafkaProducer,
            **client_settings(self._settings.kafka),
            allow_auto_create_topics=False,
            bootstrap_timeout_ms=_REQUEST_MS,
            max_block_ms=_REQUEST_MS,
        )
        try:
            for one in passed:
                where = (
                    f"{self._topic}, partition {one.partition}, offsets {one.first} to {one.following - 1}"
                )
                _log.error("passed over %s: %s", where, one.why)
                record = Input(one.partition, one.first, one.append_ms * 1_000_000, b"", b"")
                letter = dead_letter(record, REASON, f"{where}: {one.why}")
                sent = producer.send(self._settings.dead_letters_topic, value=letter.value)
                sent.get(timeout=_REQUEST_MS / 1e3)
        finally:
            producer.close(timeout=1)


def _measure(batch: Any) -> Iterator[batches.Read]:
    """What a batch unpacks to. One that only Java unpacks may be of any size: no client packs like that."""
    size, refused = 0, None
    try:
        size = len(batches.unpacked(batch))
    except batches.BadBatchError as error:
        refused = str(error)
    yield batches.last_offset(batch), None, _Measured(batch.base_offset, size, refused)
