"""`inflight run`: one process, from probes to /metrics, with neither Kafka nor Java."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from config_file import write_config
from helpers import free_port, wait_until
from standin_clients import StandIn

from collectors.http import client
from deploy.embedded import http
from streaming.archive.read import Question, read

pytestmark = pytest.mark.slow


def test_from_probes_to_metrics(router: StandIn, tmp_path: Path) -> None:
    """Every message sent is at /metrics, in the class it belongs to; SIGTERM ends it cleanly."""
    router.tell(kind="drop", address="closest/run-lossy", count=4)
    port = free_port()
    config = _config(
        tmp_path,
        router,
        "rate: 50/s, count: 100",
        f"""
  whole: {{from: a, to: a, address: closest/run-whole}}
  lossy: {{from: a, to: a, address: closest/run-lossy, presettled: true}}
export: {{listen: "127.0.0.1:{port}"}}
""",
    )
    process = subprocess.Popen([sys.executable, "-m", "deploy", "run", "-c", str(config)])
    try:
        wait_until(
            lambda: _messages(port, "received") == {"whole": 100, "lossy": 96}, 60, "all windows to be final"
        )
        wait_until(lambda: _messages(port, "lost") == {"whole": 0, "lossy": 4}, 20, "the loss to be final")
        assert _series(port, "inflight_path_sent_messages_total") == {"whole": 100, "lossy": 100}
        assert http.get(f"http://127.0.0.1:{port}/-/ready") == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_router_that_is_gone_is_told(router: StandIn, tmp_path: Path) -> None:
    """At /-/ready, as `inflight probe` does it."""
    port = free_port()
    config = _config(tmp_path, router, "rate: 10/s", "\n  one: {from: a, to: a, address: closest/run-gone}\n")
    command = [sys.executable, "-m", "deploy", "run", "-c", str(config), "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command)
    try:
        wait_until(lambda: _ready(port) == "ready\n", 60, "all ends")
        router.stop()
        wait_until(lambda: "path one: sender a-0 is not attached" in _ready(port), 60, "its end to be told")
        router.start()
        wait_until(lambda: _ready(port) == "ready\n", 60, "all ends again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def _ready(port: int) -> str:
    """What it says, whatever its status; nothing where nobody answers yet."""
    url = f"http://127.0.0.1:{port}/-/ready"
    with contextlib.suppress(OSError):
        return client.get(url, time.monotonic() + 5).body.decode()
    return ""


def test_rows_are_kept(router: StandIn, tmp_path: Path) -> None:
    """With --archive: all final rows of a run, as `inflight archive` reads them."""
    router.tell(kind="drop", address="closest/run-kept", count=4)
    path = "{from: a, to: a, address: closest/run-kept, presettled: true}"
    config = _config(tmp_path, router, "rate: 50/s, count: 200", f"\n  one: {path}\n")
    rows, port = tmp_path / "rows", free_port()
    command = [sys.executable, "-m", "deploy", "run", "-c", str(config), "--archive", str(rows)]
    with subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}"]) as process:
        wait_until(lambda: _messages(port, "received") == {"one": 196}, 60, "all windows to be final")
        wait_until(lambda: _messages(port, "lost") == {"one": 4}, 20, "the loss to be final")
        process.send_signal(signal.SIGTERM)
    kept = list(read(str(rows), Question(0, 1 << 62)))
    assert (sum(row["sent"] for row in kept), sum(row["lost"] for row in kept)) == (200, 4)


def test_a_terminal_shows_how_long_messages_take_and_what_is_missing(router: StandIn, tmp_path: Path) -> None:
    """In one line that is written anew each second."""
    router.tell(kind="drop", address="closest/run-line", count=4)
    path = "{from: a, to: a, address: closest/run-line, presettled: true}"
    config = _config(tmp_path, router, "rate: 100/s, count: 400", f"\n  one: {path}\n")
    command = [sys.executable, "-m", "deploy", "run", "-c", str(config), "--seconds", "12"]
    terminal, stderr = pty.openpty()
    with subprocess.Popen([*command, "--listen", f"127.0.0.1:{free_port()}"], stderr=stderr) as process:
        os.close(stderr)
        shown = "".join(_typed(terminal))
    assert process.returncode == 0
    lines = shown.split("\r\x1b[K")[1:]
    counts = "1 path  sent 400  refused 0  lost 4  unobserved 0  pending 0"
    assert lines[-1].startswith(counts), shown
    assert any(re.search(r"  slowest one: (p99|max) \d+(\.\d+)? ms$", line) for line in lines), shown


def _config(folder: Path, router: StandIn, defaults: str, paths: str) -> Path:
    return write_config(folder, router.port, paths, defaults=f"window: 1s, settle: 1s, {defaults}")


def _typed(terminal: int) -> Iterator[str]:
    """What is written there, until nobody has it open any longer."""
    while True:
        try:
            yield os.read(terminal, 1 << 16).decode()
        except OSError:
            os.close(terminal)
            return


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
