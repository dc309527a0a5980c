"""Metrics of the collectors' own polls, by target: results, durations, bad replies."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal, get_args

from collectors.contract.metrics import LATENCY_BUCKETS_SECONDS, MetricValue
from collectors.http.metric_factory import Buckets, HistogramValue, MetricSource

PollResult = Literal["ok", "timeout", "refused", "unreachable", "auth", "tls", "denied", "lost", "bad_reply"]
RESULTS: Final[tuple[PollResult, ...]] = get_args(PollResult)
Target = tuple[str, str]  # collector and target


class PollMetrics(MetricSource):
    """Thread-safe; a target's series exist from `add_target` to `remove_target`."""

    always = ("collector_polls_total", "collector_bad_replies_total", "collector_poll_seconds")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: dict[Target, Counter[str]] = {}
        self._bad: dict[Target, Counter[str]] = {}
        self._seconds: dict[Target, list[int]] = {}
        self._sums: dict[Target, float] = {}

    def add_target(self, target: Target) -> None:
        with self._lock:
            self._results.setdefault(target, Counter(dict.fromkeys(RESULTS, 0)))

    def count_result(
        self, target: Target, result: PollResult, bad_replies: Counter[str] | None = None
    ) -> None:
        self.add_target(target)
        with self._lock:
            self._results[target][result] += 1
            if bad_replies:
                self._bad.setdefault(target, Counter()).update(bad_replies)

    def observe_seconds(self, target: Target, seconds: float) -> None:
        with self._lock:
            counts = self._seconds.setdefault(target, [0] * (len(LATENCY_BUCKETS_SECONDS) + 1))
            counts[bisect.bisect_left(LATENCY_BUCKETS_SECONDS, seconds)] += 1
            self._sums[target] = self._sums.get(target, 0.0) + seconds

    def remove_target(self, target: Target) -> None:
        with self._lock:
            for kept in (self._results, self._bad, self._seconds, self._sums):
                kept.pop(target, None)

    def values(self) -> Iterator[MetricValue | HistogramValue]:
        with self._lock:
            results = {target: dict(counts) for target, counts in self._results.items()}
            bad = {target: dict(counts) for target, counts in self._bad.items()}
            seconds = {target: (list(counts), self._sums[target]) for target, counts in self._seconds.items()}
        for name, found in (("collector_polls_total", results), ("collector_bad_replies_total", bad)):
            for target, counts in found.items():
                for kind, count in counts.items():
                    yield name, (*target, kind), count
        for target, (counts_of_buckets, total) in seconds.items():
            yield "collector_poll_seconds", target, Buckets(LATENCY_BUCKETS_SECONDS, counts_of_buckets, total)
