"""Where records go that are not for this process: to Kafka, by way of a spool on disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError

from collectors.config import Kafka
from collectors.kafka_causes import explain
from collectors.kafka_client import client_kwargs
from collectors.record_codec import decode
from collectors.records import SECOND_NS, BadRecord, Gap, Header
from collectors.spool import Frame, Spool
from collectors.topics import SAMPLES, Topic

_log: Final = logging.getLogger("inflight.sink")
_IN_FLIGHT: Final = 1_000
_LINGER_MS: Final = 20
_MAX_BLOCK_MS: Final = 5_000
_BOOTSTRAP_MS: Final = 5_000
_DELIVERY_MS: Final = 30_000
_RETRY_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 0.05
_MAX_REQUEST_BYTES: Final = 1_100_000
_BEFORE_NS: Final = 2 * SECOND_NS  # an end publishes at least that often


End = tuple[str, str, str, str]  # path, role, name, run


class KafkaSink:
    """Writes records to the spool, and from there to Kafka in order, in a thread of its own.

    `topic_of` tells a record's topic by its key.
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
        self._producer: KafkaProducer | None = None
        self._alone = 0  # so many records are sent one by one
        self.problem: str | None = "not connected to Kafka yet"
        self.dropped_seconds: Counter[str] = Counter({"full": 0, "too_large": 0, "disk": 0})
        self.delivered = 0
        self._fine_at = time.monotonic()  # when nothing was wrong yet, or any more
        self._thread = threading.Thread(target=self._run, name="kafka-sink", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # -- for the probe's thread

    def put(self, record: bytes, key: str) -> None:
        try:
            dropped = self._spool.put(key, record)
        except OSError as error:
            if self.problem != (text := f"the spool cannot be written: {error.strerror}"):
                _log.error("%s", text)
            self.problem = text
            self._give_up([(key, record)], "disk")
            return
        if dropped:
            self._give_up([(frame.key, frame.record) for frame in dropped], "full")
        self._wake.set()

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:
        with self._lock:
            return tuple(self._gaps.pop((path, role, name, run), ()))

    # -- for the owner

    @property
    def spool(self) -> Spool:
        return self._spool

    def close(self, seconds: float = 3.0) -> None:
        """Send what is waiting, for so long at most; the rest stays on disk for the next start."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._producer is not None and self._unsent():
            time.sleep(0.02)
        self._stopping.set()
        self._wake.set()
        self._thread.join(max(1.0, deadline - time.monotonic()))
        self._spool.close()

    def _unsent(self) -> bool:
        return bool(self._in_flight) or self._spool.unread()

    # -- the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception as error:  # noqa: BLE001 -- whatever it is, what is on disk is not lost by it
                self._failed(error)
        if self._producer is not None:
            self._producer.close(timeout=1)

    def _step(self) -> None:
        self._reap()
        if self._producer is None:
            self._producer = KafkaProducer(
                **client_kwargs(self._config),  # anew: a password's file may have been put right
                enable_idempotence=True,
                acks="all",
                compression_type="lz4",
                linger_ms=_LINGER_MS,
                batch_size=1 << 17,
                max_request_size=_MAX_REQUEST_BYTES,
                max_block_ms=_MAX_BLOCK_MS,
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                delivery_timeout_ms=_DELIVERY_MS,
                request_timeout_ms=10_000,
                allow_auto_create_topics=False,
                reconnect_backoff_max_ms=2_000,
            )
        most = (0 if self._in_flight else 1) if self._alone else _IN_FLIGHT - len(self._in_flight)
        frames = self._spool.take(most)
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
                self._close_producer()  # it fails all that follows, too
            else:
                if isinstance(future.exception, MessageSizeTooLargeError):
                    # The client fails the records beside it, too: each is tried alone to find the one.
                    self._alone = 1
                raise future.exception
            self._in_flight.popleft()
            self._alone = max(0, self._alone - 1)

    def _delivered(self, frame: Frame) -> None:
        self._spool.ack(frame)
        self.delivered += 1
        self._fine_at = time.monotonic()
        if self.problem is not None:
            _log.info("records go to Kafka, topics %s.*", self._config.prefix)
            self.problem = None

    def _too_large(self, frame: Frame, error: Exception) -> None:
        _log.error("a record of %s is too large for Kafka and is given up: %s", frame.key, error)
        self._give_up([(frame.key, frame.record)], "too_large")
        self._spool.ack(frame)

    def _failed(self, error: Exception) -> None:
        """Begin again with what is not known to have arrived: in order, and twice rather than never."""
        text = explain(error, self._fine_at) if isinstance(error, KafkaError) else str(error) or repr(error)
        if self.problem != text:
            _log.warning("records wait on disk: Kafka at %s: %s", ",".join(self._config.servers), text)
        self.problem = text
        self._in_flight.clear()
        again = self._spool.rewind()
        self._alone = again if self._alone else 0
        self._close_producer()
        self._stopping.wait(_RETRY_SECONDS)

    def _close_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close(timeout=0)

    # -- what is given up

    def _give_up(self, records: list[tuple[str, bytes]], reason: str) -> None:
        seconds = set()
        others = 0  # a collector's, which need no gap: what they count goes on in the next one
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
            gaps[:0] = header.gaps  # what it had to tell is told by a later one
            if gaps and gaps[-1].last == header.number - 1:
                first = gaps.pop()
                gaps.append(Gap(first.first, header.number, first.from_ns, header.frontier_ns))
                return
            from_ns = max(header.observed_from_ns, header.frontier_ns - _BEFORE_NS)
            if header.kind in {"received", "ledger"}:
                from_ns = max(header.observed_from_ns, min(from_ns, header.second * SECOND_NS))
            gaps.append(Gap(header.number, header.number, from_ns, header.frontier_ns))
