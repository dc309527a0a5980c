"""Sends records to Kafka, by way of a spool on disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError

from collectors.config.model import Kafka
from collectors.contract.record_codec import decode
from collectors.contract.records import SECOND_NS, BadRecord, Gap, Header
from collectors.contract.topics import SAMPLES, Topic
from collectors.kafka.causes import explain
from collectors.kafka.client import client_kwargs
from collectors.kafka.connect import connect
from collectors.kafka.spool import Frame, Spool
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker, joined

_log: Final = logging.getLogger("inflight.sink")
_IN_FLIGHT: Final = 1_000
_LINGER_MS: Final = 20
_MAX_BLOCK_MS: Final = 5_000
_BOOTSTRAP_MS: Final = 5_000
_REQUEST_MS: Final = 10_000
_NEVER_MS: Final = (1 << 31) - 1
_SILENT_SECONDS: Final = 30.0  # Kafka has taken nothing for so long: another connection is made
_RETRY_SECONDS: Final = 1.0
_LATE_SECONDS: Final = 30.0  # the job takes an end for gone after a minute, unless configured
_QUIET_SECONDS: Final = 30.0  # nothing was given up for so long
_IDLE_SECONDS: Final = 0.05
_MAX_REQUEST_BYTES: Final = 1_100_000
_BEFORE_NS: Final = 2 * SECOND_NS  # an end publishes at least that often


End = tuple[str, str, str, str]  # path, role, name, run


class _Producer(KafkaProducer):  # type: ignore[misc]  # it is untyped
    """A producer that can be closed while Kafka is silent.

    KafkaProducer's `close` first waits for all answers; when they do not come it raises and leaves its thread
    running.
    """

    def flush(self, timeout: float | None = None) -> None:
        """Does nothing: `close` calls it, and what is not sent is on disk and will be sent again."""

    def leave(self, seconds: float) -> None:
        """Sends what it has for at most `seconds`, then stops; blocks for a request's time at most."""
        sender = self._sender
        self.close(timeout=seconds)
        sender.join(_REQUEST_MS / 1e3)


class KafkaSink:
    """Writes records to the spool, and from there to Kafka in order, in a thread of its own.

    `topic_of` returns a record's topic by its key.
    """

    def __init__(
        self, config: Kafka, spool: Spool, topic_of: Callable[[str], Topic] = lambda _: SAMPLES
    ) -> None:
        self._config, self._spool = config, spool
        self._topic_of = topic_of
        client_kwargs(config)  # mistakes are told now, not in the thread
        self._lock = threading.Lock()
        self._gaps: dict[End, list[Gap]] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._in_flight: deque[tuple[Frame, Any]] = deque()
        self._producer: _Producer | None = None
        self._alone = 0  # so many records are sent one by one
        self._waiting = Trouble(_log)
        self._waiting.text = "not connected to Kafka yet"
        self._losing = Trouble(_log)
        self._oversized = Trouble(_log)
        self._damaged = Trouble(_log)
        self._lost_at = 0.0  # when the disk had no room for a record
        self._damaged_at = 0.0  # when a file of the spool was found damaged or gone
        self.dropped_seconds: Counter[str] = Counter({"full": 0, "too_large": 0, "disk": 0})
        self.dropped_seconds["damaged"] = spool.damaged  # files: nobody knows what was in them
        self.delivered = 0
        self._fine_at = time.monotonic()  # when nothing was wrong yet, or any more
        self._moved_at = 0.0  # when Kafka took something, or nothing was on its way
        self._worker = Worker("kafka-sink", self._run)

    def start(self) -> None:
        self._worker.start()

    # -- called by the thread that makes records

    def put(self, record: bytes, key: str) -> None:
        try:
            dropped = self._spool.put(key, record)
        except OSError as error:
            self._give_up([(key, record)], "disk")
            self._losing_records(f"records are given up: the spool cannot be written: {error.strerror}")
            return
        if dropped:
            self._give_up([(frame.key, frame.record) for frame in dropped], "full")
            limit = f"{self._spool.limit_bytes / (1 << 20):.0f} MiB"
            self._losing_records(f"the oldest records are given up: the spool is full, with {limit}")
        elif self._losing.text and time.monotonic() - self._lost_at > _QUIET_SECONDS:
            self._losing.over("the spool takes all records again")
        self._wake.set()

    def _losing_records(self, text: str) -> None:
        self._lost_at = time.monotonic()
        self._losing.tell(text, logging.ERROR)

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:
        with self._lock:
            return tuple(self._gaps.pop((path, role, name, run), ()))

    # -- called by the owner

    @property
    def spool(self) -> Spool:
        return self._spool

    @property
    def problem(self) -> str | None:
        """Says why records are given up or wait now; None when they do not."""
        return self._losing.text or self._damaged.text or self._waiting.text

    def not_ready(self) -> str | None:
        """Says why records do not reach Kafka in time; None when they do."""
        late, age = None, self._spool.oldest_seconds()
        if age > _LATE_SECONDS:
            why = self._waiting.text or f"{self._spool.waiting_bytes} bytes are still to be sent"
            late = f"the oldest record has waited for Kafka for {age:.0f} s: {why}"
        return joined(self._worker.problem, self._losing.text, self._damaged.text, late)

    def close(self, seconds: float = 3.0) -> None:
        """Sends waiting records for at most `seconds`; the rest stays on disk for the next start."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._producer is not None and self._unsent():
            time.sleep(0.02)
        self._stopping.set()
        self._wake.set()
        self._worker.join(max(1.0, deadline - time.monotonic()))
        self._spool.close()

    def _unsent(self) -> bool:
        return bool(self._in_flight) or self._spool.unread()

    # -- in the sink's own thread

    def _run(self) -> None:
        self._begin_again()
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception as error:  # noqa: BLE001 -- whatever it is, what is on disk is not lost by it
                self._failed(error)
                self._begin_again()
                self._stopping.wait(_RETRY_SECONDS)
        self._leave_producer(seconds=1)

    def _step(self) -> None:
        self._reap()
        if self._producer is None:
            self._producer = connect(
                _Producer,
                **client_kwargs(self._config),  # anew: a password's file may have been put right
                enable_idempotence=True,
                acks="all",
                compression_type="lz4",
                linger_ms=_LINGER_MS,
                batch_size=1 << 17,
                max_request_size=_MAX_REQUEST_BYTES,
                max_block_ms=_MAX_BLOCK_MS,
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                # A batch given up would let later ones overtake it: it is tried again until all are given up.
                delivery_timeout_ms=_NEVER_MS,
                request_timeout_ms=_REQUEST_MS,
                allow_auto_create_topics=False,
                reconnect_backoff_max_ms=2_000,
            )
        most = (0 if self._in_flight else 1) if self._alone else _IN_FLIGHT - len(self._in_flight)
        frames = self._spool.take(most)
        self._look_for_damage()
        if not self._in_flight:
            self._moved_at = time.monotonic()
        for frame in frames:
            try:
                topic = self._topic_of(frame.key).name(self._config.prefix)
                future = self._producer.send(topic, key=frame.key.encode(), value=frame.record)
            except MessageSizeTooLargeError as error:
                self._too_large(frame, error)
                continue
            self._in_flight.append((frame, future))
        if not frames:
            self._wake.wait(_IDLE_SECONDS if self._in_flight else 0.5)
            self._wake.clear()

    def _reap(self) -> None:
        while self._in_flight and self._in_flight[0][1].is_done:
            frame, future = self._in_flight[0]
            if future.succeeded():
                self._delivered(frame)
            elif isinstance(future.exception, MessageSizeTooLargeError) and self._alone:
                self._too_large(frame, future.exception)
                self._leave_producer()  # it fails all that follows, too
            else:
                if isinstance(future.exception, MessageSizeTooLargeError):
                    # The client fails the records beside it, too: each is tried alone to find the one.
                    self._alone = 1
                raise future.exception
            self._in_flight.popleft()
            self._alone = max(0, self._alone - 1)
            self._moved_at = time.monotonic()
        if self._in_flight and time.monotonic() - self._moved_at > _SILENT_SECONDS:
            raise KafkaTimeoutError(f"it has taken nothing for {_SILENT_SECONDS:.0f} s")

    def _look_for_damage(self) -> None:
        damaged = self._spool.damaged
        if damaged > self.dropped_seconds["damaged"]:
            self.dropped_seconds["damaged"] = damaged
            self._damaged_at = time.monotonic()
            self._damaged.tell("records are lost: files of the spool are damaged or gone", logging.ERROR)
        elif self._damaged.text and time.monotonic() - self._damaged_at > _QUIET_SECONDS:
            self._damaged.over("the spool's files are whole again")

    def _delivered(self, frame: Frame) -> None:
        self._spool.ack(frame)
        self.delivered += 1
        self._fine_at = time.monotonic()
        self._waiting.over(f"records go to Kafka, topics {self._config.prefix}.*")

    def _too_large(self, frame: Frame, error: Exception) -> None:
        self._oversized.tell(f"{frame.key}: a record too large for Kafka is given up: {error}", logging.ERROR)
        self._give_up([(frame.key, frame.record)], "too_large")
        self._spool.ack(frame)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, OSError) and error.filename:
            self._waiting.tell(f"records wait on disk, and cannot be read there: {error}")
            return
        text = explain(error, self._fine_at) if isinstance(error, KafkaError) else str(error) or repr(error)
        self._waiting.tell(f"records wait on disk: Kafka at {','.join(self._config.servers)}: {text}")

    def _begin_again(self) -> None:
        """Sends all again that is not known to have arrived: in order, and rather twice than never."""
        self._leave_producer()  # first: what it sent after this would be out of order
        self._in_flight.clear()
        again = self._spool.rewind()
        self._alone = again if self._alone else 0

    def _leave_producer(self, seconds: float = 0) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.leave(seconds)

    # -- what is given up

    def _give_up(self, records: list[tuple[str, bytes]], reason: str) -> None:
        seconds = set()
        others = 0  # records of collectors: they need no gap, as their counters go on in the next record
        for key, record in records:
            if self._topic_of(key) is not SAMPLES:
                others += 1
                continue
            try:
                header = decode(record).header
            except BadRecord:
                continue
            if header.kind in {"received", "ledger"}:
                seconds.add((header.path, header.second))
            self._declare(header)
        with self._lock:
            self.dropped_seconds[reason] += len(seconds) + others

    def _declare(self, header: Header) -> None:
        end = header.path, header.role, header.name, header.run
        with self._lock:
            gaps = self._gaps.setdefault(end, [])
            gaps[:0] = header.gaps  # those that it was to declare are declared by a later record
            if gaps and gaps[-1].last == header.number - 1:
                first = gaps.pop()
                gaps.append(Gap(first.first, header.number, first.from_ns, header.frontier_ns))
                return
            from_ns = max(header.observed_from_ns, header.frontier_ns - _BEFORE_NS)
            if header.kind in {"received", "ledger"}:
                from_ns = max(header.observed_from_ns, min(from_ns, header.second * SECOND_NS))
            gaps.append(Gap(header.number, header.number, from_ns, header.frontier_ns))
