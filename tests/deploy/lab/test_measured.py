"""From one command to figures: a lab with brokers, Inflight over it, a router killed, the way round taken."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml
from helpers import wait_until
from lab_commands import Labs

from collectors.config import load
from collectors.contract.window_rows import WindowRow, decode_window
from deploy.embedded import http
from deploy.lab import client
from deploy.lab.client import LabRecord
from deploy.parts.run import RunPart

pytestmark = pytest.mark.e2e

_SECONDS = 180
# The way by D costs more, and there are two queues on it.
_RING = """
version: 1
name: net
routers: {A: {}, B: {}, C: {}, D: {}}
brokers: {store: {queues: [inflight.store]}, archive: {queues: [inflight.archive]}}
links:
  - {from: B, to: A}
  - {from: C, to: B}
  - {from: D, to: C, cost: 5}
  - {from: A, to: D, cost: 5}
  - {from: D, to: store, queues: [inflight.store]}
  - {from: D, to: archive, queues: [inflight.archive]}
paths:
  across: {from: A, to: C, address: inflight/across, rate: 20/s}
  queued: {from: A, to: C, address: inflight.store, via: store, rate: 20/s}
"""
_BY_B = "A.stand-in>B.stand-in>C.stand-in"
_BY_D = "A.stand-in>D.stand-in>C.stand-in"


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labs]:
    """A lab `net` that is up."""
    made = Labs(tmp_path_factory.mktemp("labs"))
    (made.folder / "net.yaml").write_text(_RING)
    made.run("up", "net.yaml", "--stand-ins")
    yield made
    made.run("down")
    assert made.left() == []


@pytest.fixture
def net(labs: Labs) -> LabRecord:
    lab = client.at(labs.place("net"))
    assert lab is not None
    return lab


def test_its_brokers_are_told_with_their_consoles(net: LabRecord) -> None:
    brokers = [part for part in net.record.parts if part.kind == "broker"]
    assert [part.name for part in brokers] == ["store", "archive"]
    assert all(part.runs.startswith("Artemis 2.") for part in brokers)
    assert all(part.jolokia and part.jolokia.startswith("http://127.0.0.1:") for part in brokers)


def test_its_config_is_right_and_run_measures_on_it(net: LabRecord) -> None:
    """By the commands that `up` has named: also through the queue, and after the lab's own few seconds."""
    inflight = [sys.executable, "-m", "deploy"]
    checked = subprocess.run(
        [*inflight, "check", net.config_file], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    listen = yaml.safe_load(net.config_file.read_text())["export"]["listen"]

    def measured() -> bool:
        paths = json.loads(http.get(f"http://{listen}/api/state"))["paths"]
        return {path["name"] for path in paths if path.get("response")} == {"across", "queued"}

    with subprocess.Popen([*inflight, "run", "-c", net.config_file]) as running:
        try:
            wait_until(measured, _SECONDS, "latencies of both paths")
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(_SECONDS) == 0
    assert (net.folder / "monitor").is_dir()


def test_the_way_round_is_taken(net: LabRecord) -> None:
    """Messages go by B; it is killed, and they go by D; it is started again, and they go by it as before."""
    rows: list[WindowRow] = []

    def keep(row: bytes) -> None:
        rows.append(decode_window(row))

    def all_go_by(way: str) -> bool:
        """Whether the last final window was of messages that went there, and nowhere else."""
        last = max(rows, key=lambda row: row["window_start_ns"])
        return last["classes"]["received"] > 0 and set(last["routes"]) == {way}

    config = load.load(net.config_file)
    with RunPart(config, ["across"], listen="127.0.0.1:0", on_row=keep):
        wait_until(lambda: all_go_by(_BY_B), _SECONDS, "windows of messages by B")
        net.ask({"do": "kill", "part": "B"})
        wait_until(lambda: all_go_by(_BY_D), _SECONDS, "windows of messages by D")
        net.ask({"do": "start", "part": "B"})
        wait_until(lambda: all_go_by(_BY_B), _SECONDS, "windows of messages by B again")
    assert {way for row in rows for way in row["routes"]} == {_BY_B, _BY_D}
