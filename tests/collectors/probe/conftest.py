"""Paths to probe."""

from __future__ import annotations

import pytest

from collectors import load, paths

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
