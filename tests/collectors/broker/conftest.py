"""Broker collectors run in a thread, and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jolokia import Answer, FakeJolokia
from replay import CAPTURES
from watching import Watching, all_closed

from collectors.broker.collector import BrokerCollector
from collectors.config.model import Broker


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


@pytest.fixture
def watch() -> Iterator[Callable[..., Watching]]:
    """Start collectors with `watch(jolokia=…, …)`; they end with the test. `of_paths` are queues of paths."""

    def make(of_paths: tuple[str, ...] = (), **config: Any) -> Watching:
        broker = Broker.model_validate({"interval": "500ms", "mesh": "prod", **config})
        return Watching(
            lambda context, stop, on_status: BrokerCollector("b1", broker, context, stop, on_status),
            *("broker", "b1", {"mesh": "prod", "broker": "b1"}, of_paths),
        )

    with all_closed(make) as start:
        yield start
