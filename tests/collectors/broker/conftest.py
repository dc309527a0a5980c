"""Broker collectors run in a thread, and what comes of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jolokia import Answer, FakeJolokia
from prometheus_client import CollectorRegistry
from replay import CAPTURES

from collectors.board import Board
from collectors.broker.collector import BrokerCollector, BrokerSeen
from collectors.config import Broker
from collectors.outlet import Outlet
from collectors.pace import Stop
from collectors.polls import Polls
from collectors.telemetry import Telemetry


@pytest.fixture
def capture() -> list[Any]:
    """The captured replies of a real Artemis."""
    found: list[Any] = json.loads((CAPTURES / "artemis-2.44.0-jolokia-2.3.0.json").read_text())
    return found


@pytest.fixture
def fake() -> Iterator[Callable[[Answer], FakeJolokia]]:
    """Start fakes; they end with the test."""
    started: list[FakeJolokia] = []

    def start(answer: Answer) -> FakeJolokia:
        started.append(FakeJolokia(answer))
        return started[-1]

    yield start
    for server in started:
        server.close()


class Watching:
    """A BrokerCollector in a thread."""

    def __init__(self, **config: Any) -> None:
        self.registry = CollectorRegistry()
        self.seen: list[BrokerSeen] = []
        self.records: list[Telemetry] = []
        board, polls = Board(), Polls()
        self.registry.register(board)
        self.registry.register(polls)
        self.stop = Stop()
        outlet = Outlet("here", board, polls, lambda _, record: self.records.append(record))
        broker = Broker.model_validate({"interval": "500ms", "mesh": "prod", **config})
        self.collector = BrokerCollector("b1", broker, outlet, self.stop, self.seen.append)
        self._thread = threading.Thread(target=self.collector.run, daemon=True)
        self._thread.start()

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(
            f"inflight_{metric}", {"mesh": "prod", "broker": "b1", **labels}
        )

    def polls(self, result: str) -> float:
        labels = {"collector": "broker", "target": "b1", "result": result}
        return self.registry.get_sample_value("inflight_collector_polls_total", labels) or 0

    def close(self) -> None:
        self.stop.set()
        self._thread.join(5)
        assert not self._thread.is_alive()


@pytest.fixture
def watch() -> Iterator[Callable[..., Watching]]:
    """Start collectors with `watch(jolokia=…, …)`; they end with the test."""
    started: list[Watching] = []

    def start(**config: Any) -> Watching:
        started.append(Watching(**config))
        return started[-1]

    yield start
    for watching in started:
        watching.close()
