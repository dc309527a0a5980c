"""Feeds the exporter from Kafka.

There is no consumer group: the state file has offsets and counters of one moment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import KafkaError

from collectors.config.model import Kafka
from collectors.contract import attribution_rows, events, telemetry, topics, window_rows
from collectors.kafka import batches
from collectors.kafka.client import client_kwargs
from collectors.kafka.connect import connect
from collectors.process import wall_clock
from collectors.process.trouble import Trouble
from streaming.exporter.core import Exporter
from streaming.exporter.state_file import DamagedState, Offsets, StateFile

_log: Final = logging.getLogger("inflight.exporter")

SAVE_SECONDS: Final = 10.0
DISCOVER_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 2.0
# Of topics of which only the newest counts: what is as new, and among the last of its partition. Kafka is not
# asked which records are of a time: to tell that, it unpacks batches in its own memory, without a bound.
LOOK_BACK_MS: Final = 120_000
LOOK_BACK_RECORDS: Final = 5_000
POLL_MS: Final = 250
POLL_RECORDS: Final = 100  # of 1 MB at the most
CONNECT_MS: Final = 3_000
REQUEST_MS: Final = 10_000

Apply = Callable[[bytes], None]


class Consumer:
    """Reads until `stop` is set; Kafka may come and go meanwhile."""

    def __init__(self, exporter: Exporter, kafka: Kafka, state: StateFile) -> None:
        self._exporter = exporter
        self._kafka = kafka
        self._state = state
        self._kwargs = client_kwargs(kafka)
        self._offsets: Offsets | None = None
        self._fresh = True  # no state: what is in the topic at the first look is not counted
        self._goals: dict[Any, int] = {}
        self._since_ms = 0
        self._next_save = self._next_discovery = 0.0
        self._why_not: str | None = "not connected to Kafka yet"
        self._reading, self._saving = Trouble(_log), Trouble(_log)
        self._apply: Final[dict[str, tuple[str, Apply]]] = {
            topic.name(kafka.prefix): (topic.suffix, apply)
            for topic, apply in (
                (topics.WINDOWS, lambda data: exporter.apply_window(window_rows.decode_window(data))),
                (topics.LIVE, lambda data: exporter.apply_live(window_rows.decode_live(data))),
                (
                    topics.ATTRIBUTION,
                    lambda data: exporter.apply_attribution(attribution_rows.decode(data)),
                ),
                (topics.EVENTS, lambda data: exporter.apply_event(events.decode(data))),
                (topics.ROUTER, lambda data: exporter.apply_router(telemetry.decode(data))),
                (topics.BROKER, lambda data: exporter.apply_broker(telemetry.decode(data))),
            )
        }
        self._windows = topics.WINDOWS.name(kafka.prefix)
        self._events = topics.EVENTS.name(kafka.prefix)
        # What is counted: the state has how far it was read.
        self._counted: Final = {self._windows, topics.ATTRIBUTION.name(kafka.prefix)}
        self._whole: Final = {*self._counted, self._events}  # of these every record counts

    def behind(self) -> bool:
        """Return whether counters are below those of before the restart, and must not be shown yet."""
        return self._why_not is not None

    def not_ready(self) -> str | None:
        """Return why figures are incomplete, or would not survive a restart."""
        return self._why_not or self._saving.text

    def load(self) -> None:
        """Load the saved state; raises NewerState, or OSError if it could not be saved again."""
        self._state.try_out()
        self._exporter.catching_up = True
        try:
            self._offsets = self._state.load(self._exporter)
        except DamagedState as error:
            aside = self._state.file.with_suffix(".damaged")
            self._state.file.replace(aside)
            _log.error("%s; it is kept as %s, and counters start from 0", error, aside.name)
        self._fresh = self._offsets is None
        self._offsets = self._offsets or {}

    def run(self, stop: threading.Event) -> None:
        """Read until `stop` is set and the request under way has ended; log errors and try again."""
        while not stop.is_set():
            try:
                consumer = connect(
                    batches.BoundedConsumer,
                    **self._kwargs,
                    group_id=None,
                    enable_auto_commit=False,
                    auto_offset_reset="earliest",
                    allow_auto_create_topics=False,
                    fetch_max_wait_ms=POLL_MS,
                    fetch_max_bytes=8 << 20,
                    metadata_max_age_ms=30_000,
                    bootstrap_timeout_ms=CONNECT_MS,
                    request_timeout_ms=REQUEST_MS,
                )
                try:
                    self._read(consumer, stop)
                finally:
                    consumer.close()
            except (KafkaError, OSError) as error:
                servers = ", ".join(self._kafka.servers)
                why = f"{type(error).__name__}: {error}"
                self._reading.tell(f"Kafka at {servers} cannot be read, and is tried again: {why}")
                stop.wait(RETRY_SECONDS)

    def _read(self, consumer: Any, stop: threading.Event) -> None:
        self._goals.clear()
        self._discover(consumer, only=self._events)
        self._reading.over(f"reading {self._kafka.prefix}.* again")
        while not stop.is_set() and self._behind(consumer):
            self._take(consumer)  # maintenance must be known before the windows that it is about
        self._next_discovery = 0.0
        while not stop.is_set():
            if time.monotonic() >= self._next_discovery:
                self._discover(consumer)
                self._next_discovery = time.monotonic() + DISCOVER_SECONDS
            if consumer.assignment():
                self._take(consumer)
            else:
                stop.wait(RETRY_SECONDS)
            self._look_ready(consumer)
            if time.monotonic() >= self._next_save:
                self.save()

    def _take(self, consumer: Any) -> None:
        for partition, records in consumer.poll(timeout_ms=POLL_MS, max_records=POLL_RECORDS).items():
            topic, apply = self._apply[partition.topic]
            there_before = 0 if partition.topic in self._whole else self._goals.get(partition, 0)
            for record in records:
                if record.offset >= there_before or record.timestamp >= self._since_ms:
                    self._one(topic, apply, record)
            if partition.topic in self._counted and self._offsets is not None:
                self._offsets.setdefault(partition.topic, {})[partition.partition] = records[-1].offset + 1
            if partition.topic == self._events:
                # Windows counted without knowing of a maintenance must not be counted again knowing of it.
                self._next_save = 0.0

    def _one(self, topic: str, apply: Apply, record: Any) -> None:
        if record.value is None:
            return  # compaction's mark that a key is gone
        if isinstance(record.value, batches.Unreadable):
            self._bad(topic, record, record.value.decode())
            return
        try:
            apply(record.value)
        except Exception as error:  # noqa: BLE001 -- whatever a record holds, the others are read
            self._bad(topic, record, f"{type(error).__name__}: {str(error)[:300]}")

    def _bad(self, topic: str, record: Any, why: str) -> None:
        self._exporter.count_bad(topic)
        where = f"{record.topic}, partition {record.partition}, offset {record.offset}"
        _log.warning("bad row at %s: %s", where, why)

    def _look_ready(self, consumer: Any) -> None:
        if self._why_not is None:
            return
        if not any(partition.topic == self._windows for partition in consumer.assignment()):
            self._why_not = f"there is no topic {self._windows} yet"
        elif self._behind(consumer):
            self._why_not = "reading what came while it was down"
        else:
            self._why_not, self._exporter.catching_up = None, False
            _log.info("caught up with %s.*; counters are shown", self._kafka.prefix)

    def _behind(self, consumer: Any) -> bool:
        """Return whether records that were there at the first look have not been read yet."""
        for partition in [p for p, goal in self._goals.items() if consumer.position(p) >= goal]:
            del self._goals[partition]
        return bool(self._goals)

    def _discover(self, consumer: Any, only: str | None = None) -> None:
        """Assign new partitions, each from where it has to be read."""
        names = [only] if only else list(self._apply)
        there = {
            TopicPartition(name, number)
            for name in names
            for number in consumer.partitions_for_topic(name) or ()
        }
        if only is None and not any(partition.topic == self._windows for partition in there):
            self._fresh = False  # a topic that is made from now on is counted from its beginning
        known = set(consumer.assignment())
        new = sorted(there - known)
        if not new:
            return
        first, end = consumer.beginning_offsets(new), consumer.end_offsets(new)
        self._since_ms = wall_clock.now_ns() // 1_000_000 - LOOK_BACK_MS
        consumer.assign(list(known | there))
        for partition in new:
            start = max(first[partition], end[partition] - LOOK_BACK_RECORDS)
            if partition.topic in self._counted:
                start = self._start(partition, first[partition], end[partition])
            elif partition.topic == self._events:
                start = first[partition]
            consumer.seek(partition, start)
            if start < end[partition]:
                self._goals[partition] = end[partition]
        if any(partition.topic == self._windows for partition in new):
            self._fresh = False
            self.save()  # so that a second start counts from where this one did

    def _start(self, partition: Any, first: int, end: int) -> int:
        offsets = (self._offsets or {}).setdefault(partition.topic, {})
        if partition.partition not in offsets:
            offsets[partition.partition] = end if self._fresh else first
        wanted = offsets[partition.partition]
        if first <= wanted <= end:
            return wanted
        lost = first - wanted
        if lost > 0:
            _log.error("%s: %d rows were deleted before they were read; counters lack them", partition, lost)
        else:
            _log.warning("%s was made anew: reading it from its beginning", partition)
        offsets[partition.partition] = first
        return first

    def save(self) -> None:
        """Save the counters and how far they were read."""
        self._next_save = time.monotonic() + SAVE_SECONDS
        if self._offsets is None or self._fresh:
            return
        try:
            self._state.save(self._exporter, self._offsets)
        except OSError as error:
            why = error.strerror or error
            self._saving.tell(f"the state cannot be saved to {self._state.file}: {why}", logging.ERROR)
        else:
            self._saving.over(f"the state is saved to {self._state.file} again")
