"""A stand-in, a config of it, and what a part answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import free_port
from parts_config import CONFIG
from standin_clients import StandIn

from collectors.config.load import parse
from collectors.config.model import Config
from collectors.http import client
from deploy.parts.part import Part


@pytest.fixture
def config(tmp_path: Path, router: StandIn) -> Config:
    """Of a router that is there, and a Kafka that is not."""
    text = CONFIG.format(state=tmp_path / "state", kafka=free_port(), router=router.port)
    return parse(text, "inflight.yaml")


@pytest.fixture
def metric() -> Callable[..., float]:
    """The sum of a metric's values with all of these labels, as the part serves it."""

    def value(part: Part, name: str, **labels: str) -> float:
        text = client.get(f"{part.url}/metrics", time.monotonic() + 5).body.decode()
        return sum(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith(f"inflight_{name}{{") and all(f'{k}="{v}"' in line for k, v in labels.items())
        )

    return value
