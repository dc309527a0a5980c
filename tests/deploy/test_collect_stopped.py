"""`inflight collect`, stopped for longer than a router waits for it, tells nothing false when it goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import free_port, wait_until
from standin_clients import StandIn

from deploy.embedded import http

pytestmark = pytest.mark.slow


def test_what_it_watches_is_not_down_because_it_stood_still(tmp_path: Path) -> None:
    """The router closed the silent connection: that is neither the router's fault nor a failed poll."""
    router, port = StandIn(tmp_path, "R"), free_port()
    config = tmp_path / "inflight.yaml"
    config.write_text(f"""
version: 1
site: here
meshes: {{m: {{urls: ["amqp://127.0.0.1:{router.port}"], interval: 1s}}}}
""")
    command = [sys.executable, "-m", "deploy", "collect", "-c", str(config), "--listen", f"127.0.0.1:{port}"]
    collecting = subprocess.Popen(command)

    def page() -> str:
        return http.get(f"http://127.0.0.1:{port}/metrics")

    def polls(*, ok: bool) -> int:
        found = re.findall(r'collector_polls_total\{.*result="(\w+)".*\} (\S+)', page())
        return sum(int(float(count)) for result, count in found if (result == "ok") is ok)

    try:
        wait_until(lambda: polls(ok=True) >= 2, 30, "polls")
        before = polls(ok=True)
        os.kill(collecting.pid, signal.SIGSTOP)
        time.sleep(20)
        os.kill(collecting.pid, signal.SIGCONT)
        down: set[str] = set()

        def go_on() -> bool:
            down.update(re.findall(r"inflight_(?:mesh|router)_up\{.*\} 0\.0", page()))
            return polls(ok=True) >= before + 4

        wait_until(go_on, 30, "polls", every_seconds=0.005)
        assert down == set()
        assert polls(ok=False) == 0
    finally:
        os.kill(collecting.pid, signal.SIGCONT)
        collecting.terminate()
        assert collecting.wait(20) == 0
        router.stop()
