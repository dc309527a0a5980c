"""`inflight run`: one process, from probes to /metrics, with neither Kafka nor Java."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import free_port, wait_until
from standin_clients import StandIn

from deploy.embedded import http


@pytest.fixture
def router(tmp_path: Path) -> Iterator[StandIn]:
    running = StandIn(tmp_path, "R")
    yield running
    running.stop()


def test_from_probes_to_metrics(router: StandIn, tmp_path: Path) -> None:
    """Every message sent is at /metrics, in the class it belongs to; SIGTERM ends it cleanly within 10 s."""
    router.tell(kind="drop", address="closest/run-lossy", count=4)
    port = free_port()
    config = tmp_path / "inflight.yaml"
    config.write_text(f"""
version: 1
site: here
state: {tmp_path}/state
endpoints: {{a: {{url: "amqp://127.0.0.1:{router.port}"}}}}
defaults: {{window: 1s, settle: 1s, rate: 50/s, count: 100}}
paths:
  whole: {{from: a, to: a, address: closest/run-whole}}
  lossy: {{from: a, to: a, address: closest/run-lossy, presettled: true}}
export: {{listen: "127.0.0.1:{port}"}}
""")
    process = subprocess.Popen([sys.executable, "-m", "deploy", "run", "-c", str(config)])
    try:
        wait_until(
            lambda: _messages(port, "received") == {"whole": 100, "lossy": 96}, 60, "all windows to be final"
        )
        wait_until(lambda: _messages(port, "lost") == {"whole": 0, "lossy": 4}, 20, "the loss to be final")
        assert _series(port, "inflight_path_sent_messages_total") == {"whole": 100, "lossy": 100}
        assert http.get(f"http://127.0.0.1:{port}/-/ready") == "ready\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert time.monotonic() - began < 10
    finally:
        process.kill()
        process.wait()


def _messages(port: int, name: str) -> dict[str, int]:
    return _series(port, "inflight_path_messages_total", f'class="{name}"')


def _series(port: int, metric: str, label: str = "") -> dict[str, int]:
    """A metric's value by path."""
    found = {}
    for line in http.get(f"http://127.0.0.1:{port}/metrics").splitlines():
        if line.startswith(metric + "{") and label in line:
            path = line.partition('path="')[2].partition('"')[0]
            found[path] = int(float(line.rpartition(" ")[2]))
    return found
