"""Whole experiments on stand-ins: their folder, what it adds up to, and what a kill leaves of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import wait_until

from deploy.embedded.supervise import orphans

pytestmark = pytest.mark.slow

BOUND_SECONDS = 300  # of a few seconds' measuring, on a machine that has much else to do
PLAN = """\
version: 1
name: two-sizes
says: Do both sizes come through a line of two routers?
network:
  stand-ins: true
  topology:
    routers: {A: {}, B: {}}
    links: [{from: A, to: B}]
load:
  rate: 100/s
  paths:
    x: {from: A, to: B, address: experiment/x, presettled: true}
    y: {from: B, to: A, address: experiment/y, rate: 50/s}
phases: {warm-up: 1s, steady: 4s}
actions:
  - {do: pause, what: B, after: 1s, for: 500ms}
factors:
  load.size: [100B, 1kB]
must: ["lost <= 0%", "x: sent >= 1"]
"""
FIGURES = ("sent", "received", "refused", "lost", "unobserved")


class Command:
    """`inflight experiment` as a process."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.log = folder.with_suffix(f".{words[0]}.log")
        argv = [sys.executable, "-m", "deploy", "experiment", *words]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT)

    @property
    def told(self) -> str:
        return self.log.read_text()

    def wait_told(self, text: str) -> None:
        wait_until(lambda: text in self.told or self.process.poll() is not None, BOUND_SECONDS, text)
        assert text in self.told, self.told

    def ended(self) -> int:
        return self.process.wait(BOUND_SECONDS)


def written(tmp_path: Path, text: str = PLAN) -> tuple[Path, Path]:
    """Return the plan's file, and a folder for its results."""
    (tmp_path / "plan.yaml").write_text(text)
    return tmp_path / "plan.yaml", tmp_path / "results"


def left(results: Path) -> list[int]:
    """Return the processes of a run that are still there."""
    return orphans.marked(f"{(results / '.running').resolve()}//")


def summaries(results: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((results / "summary.json").read_text())["runs"]
    return found


def check_figures(results: Path, summary: dict[str, Any]) -> None:
    """Hold a run's figures against its windows, counted by pandas."""
    windows = pd.read_parquet(results / "runs" / f"{summary['number']:04}" / "windows.parquet")
    ends = windows.window_start_ns + windows.window_ns
    steady = windows[
        (windows.window_start_ns >= summary["steady_from_ns"]) & (ends <= summary["steady_to_ns"])
    ]
    for name, figures in summary["figures"].items():
        of = steady if name == "all" else steady[steady.path == name]
        assert {key: figures[key] for key in FIGURES} == {key: int(of[key].sum()) for key in FIGURES}
        assert figures["windows"] == of.window_start_ns.nunique() == 4
        decided = of.lost.sum() + of.received.sum() + of.refused.sum()
        assert figures["lost_share"] == of.lost.sum() / decided
        assert figures["rate_per_second"] == of.received.sum() / 4
        assert figures["max_ns"] == of.max_ns.max()


def test_a_killed_experiment_is_resumed(tmp_path: Path) -> None:
    """Nothing of the network outlives kill -9; the half run is made anew, a whole one is left as it is."""
    plan, results = written(tmp_path)
    first = Command(results, "run", str(plan), "--out", str(results))
    first.wait_told("run 2 of 2")
    first.wait_told("router B paused")
    first.process.kill()
    first.ended()
    wait_until(lambda: not left(results), 60, "the network's end")
    whole = (results / "runs" / "0001" / "summary.json").read_bytes()
    assert not (results / "runs" / "0002").exists()

    second = Command(results, "resume", str(results))
    assert second.ended() == 0, second.told
    assert "run 1 of 2" not in second.told
    assert (results / "runs" / "0001" / "summary.json").read_bytes() == whole
    found = summaries(results)
    assert [one["number"] for one in found] == [1, 2]
    assert {one["levels"]["load.size"] for one in found} == {"100B", "1kB"}
    assert sorted(p.name for p in (results / "runs").iterdir()) == ["0001", "0002"]
    assert not (results / ".running").exists()
    for summary in found:
        check_figures(results, summary)
        assert [one["name"] for one in summary["actions"]] == ["pause"]
        assert (
            summary["memory"]["A"]["resident_bytes_max"] >= summary["memory"]["A"]["resident_bytes_last"] > 0
        )
        assert all(one["held"] for one in summary["held"])
        # Every message of the half second without B was late by that, and none was lost.
        assert summary["figures"]["all"]["max_ns"] > 300_000_000
    # As README reads them.
    table = pd.json_normalize(json.loads((results / "summary.json").read_text())["runs"])
    assert sorted(table["levels.load.size"]) == ["100B", "1kB"]
    files = {f.parent.name: pd.read_parquet(f) for f in results.glob("runs/*/windows.parquet")}
    assert set(pd.concat(files, names=["run"]).index.get_level_values("run")) == {"0001", "0002"}
    run = results / "runs" / "0002"
    names = {"windows", "router", "events", "memory"}
    assert {file.stem for file in run.glob("*.parquet")} == names
    events = pd.read_parquet(run / "events.parquet")
    assert list(zip(events.do, events.what, strict=True)) == [("pause", "B")]
    assert set(pd.read_parquet(run / "memory.parquet").part) >= {"A", "B", "load-1"}
    rates = pd.read_csv(run / "rate.csv")
    assert rates.sent.sum() == pd.read_parquet(run / "windows.parquet").sent.sum()
    about = json.loads((results / "experiment.json").read_text())
    assert about["versions"]["parts"].keys() == {"A.stand-in", "B.stand-in"}


def test_what_must_hold_and_did_not_is_told(tmp_path: Path) -> None:
    """By the exit status, and in the summary with the value; a stop rule ends a run that is not safe."""
    text = PLAN.replace("lost <= 0%", "p50 <= 1ns").replace("load.size: [100B, 1kB]", "load.size: [100B]")
    text += "stop: {memory: 1kB}\n"
    plan, results = written(tmp_path, text)
    command = Command(results, "run", str(plan), "--out", str(results))
    assert command.ended() == 1, command.told
    (summary,) = summaries(results)
    assert [one["held"] for one in summary["held"]].count(False) >= 1
    assert "bytes of memory, and 1,000 is the bound" in summary["stopped"]
    assert "DID NOT HOLD" in command.told


def test_ctrl_c_ends_everything_and_keeps_the_folder(tmp_path: Path) -> None:
    """With the status that shells know, and the way to go on."""
    plan, results = written(tmp_path)
    command = Command(results, "run", str(plan), "--out", str(results))
    command.wait_told("measuring, 4 s")
    os.kill(command.process.pid, signal.SIGINT)
    assert command.ended() == 130, command.told
    assert not left(results)
    assert f"inflight experiment resume {results}" in command.told
    assert list((results / "runs").iterdir()) == []
    again = Command(results, "run", str(plan), "--out", str(results))
    assert again.ended() == 2
    assert "is not empty" in again.told


def test_an_unbounded_load_by_count_in_two_processes(tmp_path: Path) -> None:
    """Senders and receivers apart: all that was counted is there, and the run ends when it is sent."""
    text = PLAN[: PLAN.index("load:")] + (
        "load:\n  rate: max\n  count: 3000\n  processes: 2\n"
        "  paths:\n    x: {from: A, to: B, address: experiment/x}\n"
        "must: ['sent >= 3000', 'received >= 3000']\n"
    )
    plan, results = written(tmp_path, text)
    command = Command(results, "run", str(plan), "--out", str(results))
    assert command.ended() == 0, command.told
    (summary,) = summaries(results)
    figures = summary["figures"]["x"]
    assert (figures["sent"], figures["received"], figures["asked_per_second"]) == (3_000, 3_000, None)
    assert set(pd.read_parquet(results / "runs" / "0001" / "memory.parquet").part) >= {"load-1", "load-2"}


def test_steps_of_the_rate_have_figures_of_their_own(tmp_path: Path) -> None:
    """Without the window in which the rate changed; the whole has all windows."""
    text = PLAN[: PLAN.index("phases:")] + (
        "phases: {warm-up: 1s, steps: {values: [20/s, 60/s], each: 4s}}\nmust: ['lost <= 0%']\n"
    )
    plan, results = written(tmp_path, text)
    command = Command(results, "run", str(plan), "--out", str(results))
    assert command.ended() == 0, command.told
    (summary,) = summaries(results)
    assert [step["value"] for step in summary["steps"]] == ["20/s", "60/s"]
    for step, rate in zip(summary["steps"], (20, 60), strict=True):
        figures = step["figures"]["x"]
        assert figures["windows"] == 3
        assert figures["asked_per_second"] == pytest.approx(rate, abs=1)
    assert summary["figures"]["x"]["windows"] == 8


def test_another_load_begins_anew_with_each_value(tmp_path: Path) -> None:
    """On the same network: a relay whose clients become more, with its rows counted as a stream's are."""
    text = PLAN[: PLAN.index("load:")] + (
        "load: {kind: relay, at: A, address: experiment/token, clients: 2, hold: 20ms}\n"
        "phases: {warm-up: 1s, steps: {of: load.clients, values: [2, 4], each: 2s}}\n"
        "must: ['lost <= 0%', 'relay: sent >= 10']\n"
    )
    plan, results = written(tmp_path, text)
    command = Command(results, "run", str(plan), "--out", str(results))
    assert command.ended() == 0, command.told
    (summary,) = summaries(results)
    assert [step["value"] for step in summary["steps"]] == [2, 4]
    parts = [step["figures"]["relay"]["sent"] for step in summary["steps"]]
    assert sum(parts) == summary["figures"]["all"]["sent"]
    assert min(parts) > 0
    windows = pd.read_parquet(results / "runs" / "0001" / "windows.parquet")
    spans = [(step["from_ns"], step["to_ns"]) for step in summary["steps"]]
    ends = windows.window_start_ns + windows.window_ns
    inside = [(windows.window_start_ns >= start) & (ends <= end) for start, end in spans]
    assert windows[inside[0] | inside[1]].sent.sum() == summary["figures"]["all"]["sent"]


def test_a_load_that_is_gone_ends_the_run_without_figures(tmp_path: Path) -> None:
    """What nobody counted cannot be judged: status 2, the reason, and the way to go on."""
    plan, results = written(tmp_path, PLAN.replace("load.size: [100B, 1kB]", "load.size: [100B]"))
    first = Command(results, "run", str(plan), "--out", str(results))
    first.wait_told("measuring, 4 s")
    (pid,) = [pid for pid in left(results) if b"stream_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(pid, signal.SIGKILL)
    assert first.ended() == 2
    assert "run 1: load-1 " in first.told
    assert f"inflight experiment resume {results}" in first.told
    assert not left(results)
    assert not (results / "runs" / "0001").exists()
    assert Command(results, "resume", str(results)).ended() == 0
    assert len(summaries(results)) == 1
