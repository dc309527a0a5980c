"""What Spark reports of the queries, as metrics."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, get_args

from prometheus_client import CollectorRegistry
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from collectors.http.metric_factory import counter, gauge, histogram
from collectors.process import wall_clock
from streaming.accounting.bounds import Reason
from streaming.shard.outputs import NEWEST
from streaming.spark.detour import REASON as INFLATED

_log: Final = logging.getLogger("inflight.stream")

OBSERVATION: Final = "shards"
_BUCKETS_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_PHASES: Final = (
    "triggerExecution",
    "addBatch",
    "queryPlanning",
    "latestOffset",
    "walCommit",
    "commitOffsets",
)

# What shards count, by the names of their counts; each is a series that begins at 0.
DEAD: Final = ("malformed", "version", "oversized", "paths", *get_args(Reason), INFLATED, "other")
IGNORED: Final = ("repeats", "warmup", "before_start", "beyond_horizon")


class Progress:
    """The metrics of all queries of this process; `apply` takes Spark's report of each batch."""

    def __init__(self, registry: CollectorRegistry, now_ns: Callable[[], int] = wall_clock.now_ns) -> None:
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self.batches: dict[str, int] = {}  # finished by query, in this process
        self.turns: dict[str, int] = {}  # the same, and triggers that found nothing new
        self._accounting: set[str] = set()  # names of queries
        self._reasons: dict[str, frozenset[str]] = {}  # by query
        self._lag = gauge("stream_lag_seconds", registry)
        self._state_rows = gauge("stream_state_rows", registry)
        self._state_bytes = gauge("stream_state_bytes", registry)
        self._last = gauge("stream_last_progress_timestamp_seconds", registry)
        self._records = counter("stream_records_total", registry)
        self._lost = counter("stream_records_lost_total", registry)
        self._restarts = counter("stream_restarts_total", registry)
        self._samples = counter("stream_samples_total", registry)
        self._dead = counter("stream_dead_letters_total", registry)
        self._ignored = counter("stream_ignored_total", registry)
        self._seconds = histogram("stream_batch_seconds", registry, _BUCKETS_SECONDS)

    def begin(self, query: str, reasons: Iterable[str] = ()) -> None:
        """Make the query's series, so that the first of anything is an increase.

        `reasons`: for which it puts records aside, beside those of the accounting.
        """
        for each in (self._records, self._lost, self._restarts):
            each.labels(query)
        self._reasons[query] = frozenset(reasons)
        for reason in (INFLATED, *reasons):
            self._dead.labels(query, reason)

    def begin_accounting(self, query: str) -> None:
        """Make those that only queries of the accounting have, too."""
        self._accounting.add(query)
        self._samples.labels(query)
        for reason in DEAD:
            self._dead.labels(query, reason)
        for reason in IGNORED:
            self._ignored.labels(query, reason)

    def has_accounted(self) -> bool:
        """Returns whether any query of the accounting has finished a batch."""
        return not self._accounting.isdisjoint(self.batches)

    def restarted(self, query: str) -> None:
        self._restarts.labels(query).inc()

    def passed_over(self, query: str, records: int) -> None:
        """Count records that Spark was not given."""
        self._dead.labels(query, INFLATED).inc(records)

    def idle(self, query: str) -> None:
        """Take in that there was nothing new in Kafka."""
        with self._lock:
            self.turns[query] = self.turns.get(query, 0) + 1
        self._lag.labels(query).set(0)
        self._last.labels(query).set(self._now_ns() / 1e9)

    def apply(self, progress: Mapping[str, Any]) -> None:
        """Take in Spark's report of a batch."""
        query = progress["name"] or "unnamed"
        rows = progress.get("numInputRows", 0)
        observed = (progress.get("observedMetrics") or {}).get(OBSERVATION)
        numbers = [(each["counter"], each["count"]) for each in (observed or {}).get("numbers", ())]
        with self._lock:
            self.batches[query] = self.batches.get(query, 0) + 1
            self.turns[query] = self.turns.get(query, 0) + 1
        self._records.labels(query).inc(rows)
        for name, milliseconds in progress["durationMs"].items():
            if name in _PHASES:
                self._seconds.labels(query, name).observe(milliseconds / 1e3)
        for state in progress.get("stateOperators") or ():
            self._state_rows.labels(query).set(state["numRowsTotal"])
            self._state_bytes.labels(query).set(state["memoryUsedBytes"])
        for name, count in numbers:
            self._count(query, name, count)
        sources = progress["sources"]
        if observed:
            self._count_lost(query, sources, rows)
        newest_ms = max((number for name, number in numbers if name == NEWEST), default=None)
        behind = any(_between(each["endOffset"], each.get("latestOffset")) > 0 for each in sources)
        lag = self._now_ns() / 1e9 - newest_ms / 1e3 if behind and newest_ms is not None else 0.0
        self._lag.labels(query).set(max(0.0, lag))
        self._last.labels(query).set(self._now_ns() / 1e9)

    def _count_lost(self, query: str, sources: Iterable[Mapping[str, Any]], rows: int) -> None:
        """Count what a batch was to read, and did not find."""
        for source in sources:
            asked = _between(source["startOffset"], source["endOffset"])
            if asked > rows:
                self._lost.labels(query).inc(asked - rows)
                _log.warning(
                    "Kafka had dropped %d of %d records of %s before they were read",
                    asked - rows,
                    asked,
                    query,
                )

    def _count(self, query: str, name: str, count: int) -> None:
        if name == "samples":
            self._samples.labels(query).inc(count)
        elif name in IGNORED:
            self._ignored.labels(query, name).inc(count)
        elif name != NEWEST:
            known = name in DEAD or name in self._reasons.get(query, ())
            self._dead.labels(query, name if known else "other").inc(count)


class Listener(StreamingQueryListener):
    """Hands Spark's events on; an error here must not reach Spark."""

    def __init__(self, progress: Progress, names: Callable[[str], str | None]) -> None:
        self._progress = progress
        self._names = names

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 -- Spark's names
        _log.info("query %s started", event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 -- the same
        try:
            self._progress.apply(json.loads(event.progress.json))
        except Exception:  # noqa: BLE001 -- whatever it is, the next report may be right
            _log.exception("a progress report could not be read")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 -- the same
        name = self._names(str(event.id))
        if name:
            self._progress.idle(name)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 -- the same
        _log.info("query %s ended", self._names(str(event.id)) or event.id)


def _between(start: Any, end: Any) -> int:
    """Returns how many records lie between offsets, given as {topic: {partition: offset}} or its JSON."""
    return sum(offset - first for first, offset in _pairs(_offsets(start), _offsets(end)))


def _pairs(start: Mapping[str, Any], end: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for topic, partitions in end.items():
        for partition, offset in partitions.items():
            # Where a new partition begins is not reported.
            first = start.get(topic, {}).get(partition)
            if first is not None and offset > first:
                yield first, offset


def _offsets(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        value = json.loads(value)
    return value if isinstance(value, dict) else {}
