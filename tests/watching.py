"""A collector in a thread, its records and its metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.polling.context import PollContext
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.polling.schedule import Stop

# From a context, a stop and a function that gets each status to a collector.
Make = Callable[[PollContext, Stop, Callable[[Any], None]], Any]


class Watching:
    """Runs the collector that `make` returns until `close`; all its metrics have `labels`."""

    def __init__(
        self, make: Make, kind: str, name: str, labels: dict[str, str], of_paths: Iterable[str] = ()
    ) -> None:
        """`of_paths` are the addresses, or queues, of paths that lie in what is watched."""
        self._kind, self._name, self._labels = kind, name, labels
        self.registry = CollectorRegistry()
        self.statuses: list[Any] = []
        self.records: list[tuple[Topic, Telemetry]] = []
        cache, poll_metrics = MetricCache(), PollMetrics()
        self.registry.register(cache)
        self.registry.register(poll_metrics)
        self.stop = Stop()
        context = PollContext(
            "here",
            cache,
            poll_metrics,
            lambda topic, record: self.records.append((topic, record)),
            *[{name: frozenset(of_paths)}] * 2,
        )
        self._thread = threading.Thread(
            target=make(context, self.stop, self.statuses.append).run, daemon=True
        )
        self._thread.start()

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"inflight_{metric}", {**self._labels, **labels})

    def rows(self, target: str, entity: str) -> list[dict[str, Any]]:
        """Return the rows of the newest poll of a router or a broker."""
        found = [r for _, r in self.records if (r.target, r.entity) == (target, entity)]
        return [row for record in found if record.poll == found[-1].poll for row in record.rows]

    def polls(self, result: str, target: str = "") -> float:
        labels = {"collector": self._kind, "target": target or self._name, "result": result}
        return self.registry.get_sample_value("inflight_collector_polls_total", labels) or 0

    def close(self) -> None:
        self.stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


@contextmanager
def all_closed(make: Callable[..., Watching]) -> Iterator[Callable[..., Watching]]:
    """Yield `make`, wrapped so that each result is closed at the end of the block."""
    started: list[Watching] = []

    def start(**config: Any) -> Watching:
        started.append(make(**config))
        return started[-1]

    yield start
    for watching in started:
        watching.close()
