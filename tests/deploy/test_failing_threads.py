"""Whatever a thread of a process raises, the process says so: it is not ready, or ends, with the reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from config_file import write_config
from helpers import free_port, wait_until

from collectors.http import client
from deploy.commands import top
from deploy.embedded import http

pytestmark = pytest.mark.slow

# The command's own process, in which one function fails as no code foresaw.
_SCRIPT = """
import sys
import {module} as module
def fail(*_, **__):
    {restore}
    raise ZeroDivisionError("made by a test")
whole = module.{place}
module.{place} = fail
from deploy.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Of a path, a mesh and a Kafka, none of which is there."""
    kafka = f"127.0.0.1:{free_port()}"
    return write_config(
        tmp_path, free_port(), "{p: {from: a, to: a, address: inflight/p}}", kafka=kafka, mesh="prod"
    )


@contextmanager
def _failing(place: str, *arguments: object, once: bool = False) -> Iterator[subprocess.Popen[str]]:
    """The command with that place, module:name, failing; ended at last."""
    module, _, name = place.partition(":")
    restore = f"module.{name} = whole" if once else ""
    script = _SCRIPT.format(module=module, place=name, restore=restore)
    command = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _ready(port: int) -> str:
    """What /-/ready says, whatever its status."""
    return client.get(f"http://127.0.0.1:{port}/-/ready", time.monotonic() + 5).body.decode()


@pytest.mark.parametrize("command", ["probe", "run", "ping"])
def test_a_loop_that_cannot_go_on_ends_the_process(config: Path, command: str) -> None:
    """With a status, and the reason in a line."""
    arguments: tuple[object, ...] = ("-c", config, "--listen", f"127.0.0.1:{free_port()}")
    if command == "ping":
        arguments = (f"amqp://127.0.0.1:{free_port()}", "somewhere")
    with _failing("collectors.probe.engine.loop:Loop.round", command, *arguments) as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 2
        last = said.splitlines()[-1]
        assert last.startswith("inflight: the thread probe failed: ZeroDivisionError: made by a test"), said
        assert "Traceback" not in last


@pytest.mark.parametrize(
    ("command", "place", "thread"),
    [
        ("probe", "collectors.kafka.sink:KafkaSink._begin_again", "kafka-sink"),
        ("collect", "collectors.kafka.sink:KafkaSink._begin_again", "kafka-sink"),
        ("collect", "collectors.router.collector:MeshCollector.run", "collect-prod"),
        ("run", "collectors.router.collector:MeshCollector.run", "collect-prod"),
        ("run", "collectors.kafka.in_process_sink:InProcessSink._run", "records"),
        ("run", "deploy.parts.in_process:InProcessAccounting._show_live", "live"),
        ("run", "deploy.parts.in_process_hops:InProcessHops._work", "hops"),
        ("export", "streaming.exporter.consumer:Consumer.run", "kafka"),
        pytest.param("stream", "streaming.spark.job:keep_compact", "compaction", marks=pytest.mark.e2e),
    ],
)
def test_a_thread_that_fails_is_told(config: Path, command: str, place: str, thread: str) -> None:
    """At /-/ready, where somebody looks; and once in the log, not at each new attempt."""
    port = free_port()
    options = ["--archive", config.parent / "archive"] if command == "stream" else []
    with _failing(place, command, "-c", config, "--listen", f"127.0.0.1:{port}", *options) as process:
        reason = f"the thread {thread} failed: ZeroDivisionError: made by a test"
        wait_until(lambda: reason in _ready(port), 60, reason)
        assert process.poll() is None
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert said.count(reason) == 1
        assert process.returncode == 0


def test_a_server_that_fails_serves_again(config: Path) -> None:
    """And says that it failed."""
    port = free_port()
    place = "collectors.http.server:Server.serve_forever"
    with _failing(place, "probe", "-c", config, "--listen", f"127.0.0.1:{port}", once=True):
        reason = "the thread http failed: ZeroDivisionError: made by a test"
        wait_until(lambda: reason in _ready(port), 60, reason)


def test_an_error_in_a_turn_of_the_loop_is_told(config: Path) -> None:
    """The ends go on with their next turn, and /-/ready says what happened."""
    port = free_port()
    place = "collectors.probe.receiver:Receiver.publish"
    with _failing(place, "probe", "-c", config, "--listen", f"127.0.0.1:{port}", once=True) as process:
        reason = "an unexpected error: ZeroDivisionError: made by a test"
        wait_until(lambda: reason in _ready(port), 60, reason)
        first = _frontier(port)
        wait_until(lambda: _frontier(port) > first, 30, "records to be put on disk after it")
        assert process.poll() is None


def _frontier(port: int) -> float:
    """Grows with each record that is put."""
    lines = http.get(f"http://127.0.0.1:{port}/metrics").splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("inflight_sink_spool_bytes"))


def test_late_records_make_a_probe_not_ready(config: Path) -> None:
    """With what is wrong with Kafka, where the ends themselves are at work."""
    port = free_port()
    script = (
        "import sys\nfrom collectors.kafka import sink\nfrom collectors.probe.prober import Prober\n"
        "sink._LATE_SECONDS = 0.5\nProber.not_ready = lambda self: None\n"
        "from deploy.cli import main\nmain(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, "probe", "-c", str(config), "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            late = "the oldest record has waited for Kafka for "
            why = "records wait on disk: Kafka at 127.0.0.1:"
            wait_until(lambda: late in _ready(port) and why in _ready(port), 60, "the reason")
        finally:
            process.kill()


def test_a_reader_that_fails_is_told_in_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """`top` says why what it shows is not the newest, and reads on."""

    def fail(url: str) -> dict[str, Any]:  # noqa: ARG001 -- as it is called
        raise ZeroDivisionError("made by a test")

    monkeypatch.setattr(top, "_REFRESH_SECONDS", 0.01)
    monkeypatch.setattr(top, "fetch", fail)
    stop = threading.Event()
    reader = top._Reader("http://127.0.0.1:1", {}, stop)  # noqa: SLF001 -- of a screen, which needs a terminal
    wait_until(lambda: "ZeroDivisionError: made by a test" in reader.trouble, 10, "the failure to be told")
    stop.set()


@pytest.mark.e2e
def test_a_job_whose_jvm_is_killed_ends(config: Path) -> None:
    """With a status, and the reason in a line."""
    port = free_port()
    command = [sys.executable, "-m", "deploy", "stream", "-c", config, "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: _ready(port), 90, "the job to be there")
            (jvm,) = _children(process.pid)
            os.kill(jvm, signal.SIGKILL)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 2
    assert said.splitlines()[-1].startswith("inflight: Spark's JVM has ended")
    assert "Traceback" not in said


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
