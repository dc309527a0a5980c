"""Captures, and mesh collectors run against scripted nodes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from replay import CAPTURES

from collectors.board import Board
from collectors.config import Mesh
from collectors.outlet import Outlet
from collectors.pace import Stop
from collectors.polls import Polls
from collectors.router.collector import MeshCollector
from collectors.router.mesh import MeshView
from collectors.telemetry import Telemetry
from collectors.topics import Topic


@pytest.fixture
def capture_bodies() -> Callable[[str], dict[str, Any]]:
    """The body of the captured reply for a type's full name."""
    found: dict[str, Any] = {}
    for file in ("qdrouterd-1.19.0.json", "skrouterd-main-2026-05.json"):
        found |= json.loads((CAPTURES / file).read_text())
    return lambda name: found[name]["body"]


class Watching:
    """A MeshCollector in a thread, and what came of it."""

    def __init__(self, **config: Any) -> None:
        self.registry = CollectorRegistry()
        self.views: list[MeshView] = []
        self.records: list[tuple[Topic, Telemetry]] = []
        board, polls = Board(), Polls()
        self.registry.register(board)
        self.registry.register(polls)
        self.stop = Stop()
        outlet = Outlet("here", board, polls, lambda topic, record: self.records.append((topic, record)))
        mesh = Mesh.model_validate({"interval": "1s", **config})
        self.collector = MeshCollector("prod", mesh, outlet, self.stop, self.views.append)
        self._thread = threading.Thread(target=self.collector.run, daemon=True)
        self._thread.start()

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"inflight_{metric}", {"mesh": "prod", **labels})

    def polls(self, result: str, target: str = "prod") -> float:
        labels = {"collector": "router", "target": target, "result": result}
        return self.registry.get_sample_value("inflight_collector_polls_total", labels) or 0

    def close(self) -> None:
        self.stop.set()
        self._thread.join(5)
        assert not self._thread.is_alive()


@pytest.fixture
def watch() -> Iterator[Callable[..., Watching]]:
    """Start collectors with `watch(urls=…, …)`; they end with the test."""
    started: list[Watching] = []

    def start(**config: Any) -> Watching:
        started.append(Watching(**config))
        return started[-1]

    yield start
    for watching in started:
        watching.close()
