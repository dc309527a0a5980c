"""Metrics of the collectors' own polls, by target: results, durations, bad replies."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from collectors.contract.metrics import CATALOGUE, LATENCY_BUCKETS_SECONDS, PREFIX

PollResult = Literal["ok", "timeout", "refused", "unreachable", "auth", "tls", "denied", "lost", "bad_reply"]
RESULTS: Final[tuple[PollResult, ...]] = (
    *("ok", "timeout", "refused", "unreachable", "auth", "tls", "denied", "lost", "bad_reply"),
)
Target = tuple[str, str]  # collector and target


class PollMetrics(Collector):
    """Thread-safe; a target's series exist from `add_target` to `remove_target`."""

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

    def describe(self) -> Iterable[Family]:
        """Return nothing: registering must not collect."""
        return []

    def collect(self) -> Iterator[Family]:
        with self._lock:
            results = {target: dict(counts) for target, counts in self._results.items()}
            bad = {target: dict(counts) for target, counts in self._bad.items()}
            seconds = {target: (list(counts), self._sums[target]) for target, counts in self._seconds.items()}
        yield _counters("collector_polls_total", "result", results)
        yield _counters("collector_bad_replies_total", "reason", bad)
        name = "collector_poll_seconds"
        family = Family(PREFIX + name, CATALOGUE[name].help, "histogram")
        for (collector, target), (counts, total) in seconds.items():
            labels = {"collector": collector, "target": target}
            so_far = 0
            for bound, count in zip((*LATENCY_BUCKETS_SECONDS, float("inf")), counts, strict=True):
                so_far += count
                family.add_sample(f"{PREFIX}{name}_bucket", {**labels, "le": _bound(bound)}, so_far)
            family.add_sample(f"{PREFIX}{name}_count", labels, so_far)
            family.add_sample(f"{PREFIX}{name}_sum", labels, total)
        yield family


def _bound(seconds: float) -> str:
    return "+Inf" if seconds == float("inf") else str(seconds)


def _counters(name: str, label: str, found: dict[Target, dict[str, int]]) -> Family:
    family = Family(PREFIX + name.removesuffix("_total"), CATALOGUE[name].help, "counter")
    for (collector, target), counts in found.items():
        for kind, count in counts.items():
            labels = {"collector": collector, "target": target, label: kind}
            family.add_sample(PREFIX + name, labels, count)
    return family
