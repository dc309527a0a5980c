"""Paths to probe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from measured import Measured
from standin_clients import StandIn

from collectors.config import load, paths

_CONFIG = """
version: 1
site: here
endpoints: {a: {url: "amqp://127.0.0.1:5672"}}
paths: {p: {from: a, to: a, address: inflight/p}}
"""


@pytest.fixture
def probe_path() -> paths.Path:
    """A path with the defaults; nothing listens at its end point."""
    return paths.resolve(load.parse(_CONFIG, "test"))["p"]


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """One for all tests of a module; each uses an address of its own."""
    running = StandIn(tmp_path_factory.mktemp("router"), "R")
    yield running
    running.stop()


@pytest.fixture
def run() -> Iterator[Any]:
    """Starts probes, and ends them whatever happens."""
    started: list[Measured] = []

    def start(text: str, **options: Any) -> Measured:
        started.append(Measured(text, **options))
        return started[-1]

    yield start
    for measured in started:
        measured.finish()
