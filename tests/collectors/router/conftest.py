"""Captures, and mesh collectors run against scripted nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from replay import CAPTURES
from watching import Watching, all_closed

from collectors.config.model import Mesh
from collectors.router.collector import MeshCollector


@pytest.fixture
def capture_bodies() -> Callable[[str], dict[str, Any]]:
    """The body of the captured reply for a type's full name."""
    found: dict[str, Any] = {}
    for file in ("qdrouterd-1.19.0.json", "skrouterd-main-2026-05.json"):
        found |= json.loads((CAPTURES / file).read_text())
    return lambda name: found[name]["body"]


@pytest.fixture
def watch() -> Iterator[Callable[..., Watching]]:
    """Start collectors with `watch(urls=…, …)`; they end with the test. `of_paths` are addresses of paths."""

    def make(of_paths: tuple[str, ...] = (), **config: Any) -> Watching:
        mesh = Mesh.model_validate({"interval": "1s", **config})
        return Watching(
            lambda context, stop, on_status: MeshCollector("prod", mesh, context, stop, on_status),
            *("router", "prod", {"mesh": "prod"}, of_paths),
        )

    with all_closed(make) as start:
        yield start
