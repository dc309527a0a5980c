"""What every collector is given: its site, and where metric values, poll results and records go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics

Publish = Callable[[Topic, Telemetry], None]


@dataclass(frozen=True, slots=True)
class PollContext:
    """`publish` is called from the collectors' threads and must not block for long."""

    site: str
    cache: MetricCache
    poll_metrics: PollMetrics
    publish: Publish
    addresses: Mapping[str, frozenset[str]] = field(
        default_factory=dict
    )  # of paths, by the meshes they lie in
    queues: Mapping[str, frozenset[str]] = field(
        default_factory=dict
    )  # of paths, by the brokers they go through

    def standstill_check(self) -> Callable[[], bool]:
        """Return a function that says whether this process has stood still since its last call.

        A poll that failed meanwhile says nothing about its target.
        """
        known = self.cache.steady.still_seconds()

        def stood_still() -> bool:
            nonlocal known
            before, known = known, self.cache.steady.still_seconds()
            return known != before

        return stood_still
