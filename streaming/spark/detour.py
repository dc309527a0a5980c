"""A query's way around batches of Kafka that unpack to more than the job can hold.

A kilobyte in Kafka may be a gigabyte unpacked. Spark's client unpacks what it gets, the JVM dies of it, and
dies again after each restart, since Spark reads again what it had planned. So a plan that was not carried out
is looked through before it is tried again, by a reader that is bounded. The plan is cut off before such a
batch; once what is before it is done, the batch is passed over, and a dead letter says so. What is left of
the plan is read in pieces.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError

from collectors.kafka import batches
from collectors.kafka.connect import connect
from streaming.shard.outputs import Input, dead_letter
from streaming.spark.kafka_options import client_settings
from streaming.spark.offset_log import OffsetLog, Offsets
from streaming.spark.query import Query
from streaming.spark.settings import JobSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log: Final = logging.getLogger("inflight.stream")

REASON: Final = "inflated"
PIECE_BYTES: Final = 64 << 20  # unpacked, of all queries at once: little, as more of it may have failed
_POLL_MS: Final = 1_000
_PATIENCE: Final = 15  # polls in which nothing comes
_REQUEST_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Skipped:
    """A batch of Kafka's that is not read: the records from offset `first` to `following` - 1."""

    place: TopicPartition
    first: int
    following: int
    append_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class _Measured:
    """A batch of Kafka's, in place of the records in it."""

    first: int
    bytes: int
    refused: str | None


class Detour:
    """The detour of one query; call `plan` before each start of the query."""

    def __init__(self, settings: JobSettings, query: Query, queries: int = 1) -> None:
        """`queries`: how many of them share the memory for what is unpacked."""
        self._settings, self._query = settings, query
        self._topics = ", ".join(query.reads)
        self._most_bytes = max(PIECE_BYTES // queries, batches.MOST_BYTES)
        self._goal: Offsets | None = None  # where the plan ended that was not carried out
        self._ahead: list[Skipped] = []  # batches right behind the newest plan

    def plan(self, spark: SparkSession) -> tuple[bool, list[Skipped]]:
        """Returns whether a batch is planned, to be run alone and with care, and what is skipped from now on.

        Raises KafkaError, AccessError or CheckpointError where that cannot be found out.
        """
        log = OffsetLog(spark, self._query.folder(self._settings.checkpoint), self._query.reads)
        newest = log.newest()
        if newest is None:
            return False, []
        if newest.done and self._goal is None:
            if anew := self._made_anew(newest.ends):
                log.put(newest.number, newest.ends | anew, like=newest.number)
            return False, []
        skipped: list[Skipped] = []
        if newest.done:
            # Partitions come in any order.
            skipped, self._ahead = sorted(self._ahead, key=lambda batch: batch.place), []
            start = newest.ends | {batch.place: batch.following for batch in skipped}
            if skipped:
                self._tell(skipped)
                log.put(newest.number, start, like=newest.number)
        else:
            start = newest.start or {}
            self._goal = self._goal or newest.ends
        goal = self._goal or {}
        if newest.done and all(start[place] >= end for place, end in goal.items()):
            self._goal = None
            if anew := self._made_anew(start):
                log.put(newest.number, start | anew, like=newest.number)
            return False, skipped
        with self._reader() as reader:
            ends, self._ahead = self._next_piece(reader, start, goal)
        log.put(newest.number + newest.done, ends, like=newest.number)
        return True, skipped

    def _made_anew(self, ends: Offsets) -> Offsets:
        """Returns where to begin in partitions that end before the query's place.

        Spark would take these for read: their topic was deleted and made again.
        """
        with self._reader() as reader:
            first, last = reader.beginning_offsets(ends), reader.end_offsets(ends)
        anew = {place: first[place] for place, end in ends.items() if end > last[place]}
        if anew:
            numbers = _numbers(anew)
            _log.warning(
                "%s was made anew: reading partitions %s from their beginning", self._topics, numbers
            )
        return anew

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

    def _next_piece(self, reader: Any, start: Offsets, goal: Offsets) -> tuple[Offsets, list[Skipped]]:
        """Returns how far the next batch may go, and the batches right behind it that are to be skipped."""
        first, last = reader.beginning_offsets(goal), reader.end_offsets(goal)
        at = {place: max(start.get(place, 0), first[place]) for place in goal}
        left = {place for place in goal if at[place] < min(goal[place], last[place])}
        reader.assign(list(left))
        for place in left:
            reader.seek(place, at[place])
        ends, ahead, room_bytes, idle = dict(goal), list[Skipped](), self._most_bytes, 0
        while left:
            idle += 1
            if idle > _PATIENCE:
                raise KafkaTimeoutError(f"Kafka gives nothing of {self._topics}, partitions {_numbers(left)}")
            # One at a time: what is unpacked is at hand only while it is measured.
            for record in (one for some in reader.poll(_POLL_MS, max_records=1).values() for one in some):
                idle, place, following = 0, TopicPartition(record.topic, record.partition), record.offset + 1
                found: _Measured = record.value
                room_bytes -= found.bytes
                if room_bytes < 0:
                    return ends | {place: at[place] for place in left}, ahead
                if found.refused is not None:
                    ends[place] = max(found.first, at[place])
                    ahead.append(Skipped(place, found.first, following, record.timestamp, found.refused))
                at[place] = following
                if found.refused is not None or following >= min(goal[place], last[place]):
                    left.discard(place)
                    reader.pause(place)
        return ends, ahead

    def _tell(self, skipped: list[Skipped]) -> None:
        """Log what is skipped, and write a dead letter for each batch of it."""
        producer = connect(
            KafkaProducer,
            **client_settings(self._settings.kafka),
            allow_auto_create_topics=False,
            bootstrap_timeout_ms=_REQUEST_MS,
            max_block_ms=_REQUEST_MS,
        )
        try:
            for batch in skipped:
                topic, partition = batch.place
                where = f"{topic}, partition {partition}, offsets {batch.first} to {batch.following - 1}"
                _log.error("passed over %s: %s", where, batch.why)
                record = Input(partition, batch.first, batch.append_ms * 1_000_000, b"", b"")
                letter = dead_letter(record, REASON, f"{where}: {batch.why}")
                sent = producer.send(self._settings.dead_letters_topic, value=letter.value)
                sent.get(timeout=_REQUEST_MS / 1e3)
        finally:
            producer.close(timeout=1)


def _numbers(places: Iterable[TopicPartition]) -> list[int]:
    return sorted(place.partition for place in places)


def _measure(batch: Any) -> Iterator[batches.Read]:
    """Yields what a batch unpacks to. One that only Java unpacks may be of any size, and is refused."""
    size, refused = 0, None
    try:
        size = len(batches.unpacked(batch))
    except batches.BadBatchError as error:
        refused = str(error)
    yield batches.last_offset(batch), None, _Measured(batch.base_offset, size, refused)
