"""A stand-in router for tests of commands and parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin_clients import StandIn


@pytest.fixture
def router(tmp_path: Path) -> Iterator[StandIn]:
    running = StandIn(tmp_path, "R")
    yield running
    running.stop()
