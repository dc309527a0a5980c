"""Parts in the test's own process: what a command does, without the command."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import free_port, wait_until
from parts_config import CONFIG
from standin_clients import StandIn

from collectors.config.model import Config
from collectors.contract.window_rows import WindowRow, decode_window
from collectors.http import client
from collectors.probe.engine.loop import Loop
from deploy.errors import Problem
from deploy.parts.collect import CollectPart
from deploy.parts.export import ExportPart
from deploy.parts.part import Part
from deploy.parts.probe import ProbePart
from deploy.parts.run import RunPart
from deploy.parts.stream import StreamPart

pytestmark = pytest.mark.slow

ANY_PORT = "127.0.0.1:0"
Metric = Callable[..., float]


def _get(part: Part, path: str) -> tuple[int, str]:
    answer = client.get(f"{part.url}{path}", time.monotonic() + 5)
    return answer.status, answer.body.decode()


def test_probe_collect_and_run_side_by_side(config: Config, metric: Metric) -> None:
    """Each serves its own metrics, says when it is ready, and ends with status 0."""
    rows: list[WindowRow] = []
    probe = ProbePart(config, ["two"], listen=ANY_PORT)
    collect = CollectPart(config, listen=ANY_PORT)
    run = RunPart(config, ["one"], listen=ANY_PORT, on_row=lambda row: rows.append(decode_window(row)))
    parts = (probe, collect, run)
    assert [part.not_ready() for part in parts] == ["not started yet"] * 3
    assert _get(run, "/-/ready") == (503, "not started yet\n")
    with probe, collect, run:
        for part in parts:
            wait_until(lambda part=part: part.not_ready() is None, 30, f"{part} to be ready")
            assert _get(part, "/-/ready") == (200, "ready\n")
        wait_until(lambda: metric(run, "path_messages_total", path="one") > 0, 30, "a final window")
        wait_until(lambda: metric(probe, "sink_spool_bytes") > 0, 30, "records that wait for Kafka")
        assert metric(probe, "probe_messages_total", path="one") == 0
        assert metric(collect, "router_up") == metric(run, "router_up") == 1
        assert [metric(part, "build_info") for part in parts] == [1, 1, 1]
        assert not any(part.ended for part in parts)
    assert [part.exit_status for part in parts] == [0, 0, 0]
    assert {row["path"] for row in rows} == {"one"}
    assert sum(row["classes"]["received"] for row in rows) == sum(row["sent"] for row in rows) > 0
    for part in parts:
        with pytest.raises(OSError, match="refused"):
            _get(part, "/-/healthy")


def test_run_writes_polls_as_collect_does(config: Config, metric: Metric) -> None:
    """Byte for byte, but for the values: neither takes the slow way through prometheus-client."""
    with CollectPart(config, listen=ANY_PORT) as collect, RunPart(config, listen=ANY_PORT) as run:
        for part in (collect, run):
            wait_until(lambda part=part: metric(part, "router_up") == 1, 30, "a poll")
        told = [_series(part, "router_up") + _series(part, "router_info") for part in (collect, run)]
    assert told[0] == told[1]
    assert told[0][0].startswith('inflight_router_up{mesh="m",router="')  # in the catalogue's order


def _series(part: Part, name: str) -> list[str]:
    lines = _get(part, "/metrics")[1].splitlines()
    return [line.rpartition(" ")[0] for line in lines if line.startswith(f"inflight_{name}{{")]


def test_a_probe_goes_on_after_another_one(config: Config, metric: Metric) -> None:
    """What the first one took is given back: its address, its ends, its folder with what waits there."""
    listen = f"127.0.0.1:{free_port()}"
    with ProbePart(config, listen=listen) as probe:
        wait_until(lambda: metric(probe, "sink_spool_bytes") > 0, 30, "records that wait for Kafka")
    with ProbePart(config, listen=listen) as probe:
        assert metric(probe, "sink_spool_bytes") > 0
    assert [folder.name for folder in (config.state / "probe").iterdir() if folder.is_dir()] == ["0"]


@pytest.mark.parametrize("make", [ProbePart, CollectPart, RunPart, ExportPart])
def test_what_cannot_be_made_leaves_nothing_behind(config: Config, make: Any) -> None:
    """The Problem says what to do; afterwards all is free for another one."""
    with CollectPart(config, listen=ANY_PORT) as other:
        taken = other.url.removeprefix("http://")
        with pytest.raises(Problem, match=f"cannot listen on {taken}: .*give another address"):
            make(config, listen=taken)
    make(config, listen=taken).stop()


def test_a_state_that_cannot_be_written_is_a_problem(config: Config) -> None:
    """Found before anything is measured, and the address is free again."""
    config.state.write_text("a file where the folder should be")
    listen = f"127.0.0.1:{free_port()}"
    for make in (ProbePart, CollectPart, ExportPart):
        with pytest.raises(Problem, match="the folder `state` of the config"):
            make(config, listen=listen)
    RunPart(config, listen=listen).stop()


def test_a_part_that_ends_by_itself_says_why(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """To whoever started it, with the status that its process would have."""

    def fail(_: Loop) -> None:
        raise ZeroDivisionError("made by a test")

    monkeypatch.setattr(Loop, "round", fail)
    with RunPart(config, listen=ANY_PORT) as run:
        wait_until(lambda: run.ended, 10, "its end")
    assert run.failure == "the thread probe failed: ZeroDivisionError: made by a test"
    assert run.exit_status == 2


def test_a_router_that_is_gone_is_told(config: Config, router: StandIn) -> None:
    """By the part itself, with no server between."""
    with RunPart(config, ["one"], listen=ANY_PORT) as run:
        wait_until(lambda: run.not_ready() is None, 30, "all ends")
        router.stop()
        wait_until(lambda: "path one: sender a-0 is not attached" in (run.not_ready() or ""), 30, "the end")
        router.start()


@pytest.mark.parametrize("make", [ProbePart, ExportPart])
def test_parts_that_need_kafka(config: Config, make: Any) -> None:
    """Say so, and name the command that does without."""
    with pytest.raises(Problem, match=r"the config has no `kafka`, which `inflight (probe|export)` needs"):
        make(config.model_copy(update={"kafka": None}), listen=ANY_PORT)


def test_parts_know_no_command() -> None:
    """They take configs and plain arguments."""
    folder = Path(__file__).parents[3] / "deploy" / "parts"
    for file in folder.glob("*.py"):
        modules = {
            name
            for node in ast.walk(ast.parse(file.read_text()))
            for name in (
                [alias.name for alias in node.names] if isinstance(node, ast.Import)
                else [node.module or ""] if isinstance(node, ast.ImportFrom)
                else []
            )
        }  # fmt: skip
        wrong = [name for name in modules if name.startswith(("click", "deploy.commands", "deploy.options"))]
        assert not wrong, file


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"heap": "much"}, "--heap much: write it like 768m or 2g"),
        ({"trigger": "soon"}, "--trigger: "),
    ],
)
def test_what_the_job_cannot_be_told(config: Config, options: dict[str, str], said: str) -> None:
    """Is found before Java is started, and nothing listens."""
    with pytest.raises(Problem, match=said):
        StreamPart(config, **options)
    part = StreamPart(config)
    assert (part.url, part.not_ready(), part.exit_status) == ("", "not started yet", 0)
    assert (config.state / "checkpoint").is_dir()
    part.stop()


# In a process of its own: pytest keeps what is logged, with the frames of errors and all that they hold.
_AGAIN_AND_AGAIN = """
import gc, os, sys, threading, time
from pathlib import Path
from collectors.config.load import load
from deploy.parts.collect import CollectPart
from deploy.parts.probe import ProbePart
from deploy.parts.run import RunPart

config = load(Path(sys.argv[1]))
for _ in range(3):
    with CollectPart(config, listen="127.0.0.1:0") as a, ProbePart(config, listen="127.0.0.1:0") as b:
        with RunPart(config, listen="127.0.0.1:0") as c:
            while a.not_ready() or b.not_ready() or c.not_ready():
                time.sleep(0.05)
    del a, b, c
    deadline = time.monotonic() + 20
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.05)  # a Kafka client that is left ends by itself
    gc.collect()
    print(threading.active_count(), len(os.listdir("/proc/self/fd")))
"""


def test_nothing_of_parts_is_left(router: StandIn, tmp_path: Path) -> None:
    """Neither threads nor open files: who experiments starts them many times in one process."""
    file = tmp_path / "inflight.yaml"
    file.write_text(CONFIG.format(state=tmp_path / "state", kafka=free_port(), router=router.port))
    command = [sys.executable, "-c", _AGAIN_AND_AGAIN, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first, *others = done.stdout.splitlines()
    assert first.split()[0] == "1"
    assert others == [first, first]
