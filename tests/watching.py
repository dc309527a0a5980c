"""A collector in a thread, its records and its metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.polling.context import Outlet
from collectors.polling.metric_cache import Board
from collectors.polling.poll_metrics import Polls
from collectors.polling.schedule import Stop

# From an outlet, a stop and a place for views to a collector.
Make = Callable[[Outlet, Stop, Callable[[Any], None]], Any]


class Watching:
    """Runs the collector that `make` returns until `close`; all its metrics have `labels`."""

    def __init__(self, make: Make, kind: str, name: str, labels: dict[str, str]) -> None:
        self._kind, self._name, self._labels = kind, name, labels
        self.registry = CollectorRegistry()
        self.views: list[Any] = []
        self.records: list[tuple[Topic, Telemetry]] = []
        board, polls = Board(), Polls()
        self.registry.register(board)
        self.registry.register(polls)
        self.stop = Stop()
        outlet = Outlet("here", board, polls, lambda topic, record: self.records.append((topic, record)))
        self._thread = threading.Thread(target=make(outlet, self.stop, self.views.append).run, daemon=True)
        self._thread.start()

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"inflight_{metric}", {**self._labels, **labels})

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
