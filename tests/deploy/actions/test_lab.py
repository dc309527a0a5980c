"""Actions on labs of real stand-ins: one of this process, and one that `inflight lab` keeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from acting import action
from helpers import free_port, wait_until
from namespaces_possible import skip_unless_possible

from collectors.config.load import load as load_config
from collectors.contract.events import Event
from deploy.actions.here import InProcess
from deploy.actions.notes import Notes
from deploy.actions.player import play
from deploy.actions.steps import Within
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab import management, record
from deploy.lab.lab import Lab
from deploy.lab.namespaces.namespaces import Namespaces
from deploy.lab.relay.wiring import Relayed
from deploy.parts.run import RunPart
from deploy.topology import load, shapes

if TYPE_CHECKING:
    from conftest import Faults  # type: ignore[import-not-found]  # pytest's

pytestmark = pytest.mark.slow
_TOPOLOGY = """version: 1
name: two
routers: {A: {}, B: {}}
links: [{from: A, to: B}]
stories:
  both:
  - {do: kill, what: B, for: 1s}
  - {do: pause, what: A, after: 200ms, for: 500ms}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Supervisor(tmp_path / "lab") as supervisor:
        made = Lab(supervisor, load.from_shape("line", shapes.names(2)).topology, stand_ins=True)
        made.start()
        made.wait_connected()
        yield made


def _played(lab: Lab, folder: Path, *actions: tuple[str, str, str]) -> tuple[list[str], list[Event]]:
    told: list[str] = []
    marked: list[Event] = []
    story = [action(do, what, lasts=lasts) for do, what, lasts in actions]
    play(story, InProcess(lab), marked.append, threading.Event(), told.append, notes=Notes(folder))
    return told, marked


def test_a_stand_in_is_killed_and_comes_back(lab: Lab, tmp_path: Path) -> None:
    """It is another process then; no note is written, as all of it ends with this process."""
    before = lab.parts["B"].process.pid
    told, marked = _played(lab, tmp_path / "notes", ("kill", "B", "300ms"))
    assert told[0] == "router B killed"
    assert told[1].startswith("router B is back after ")
    assert lab.parts["B"].process.pid != before
    assert management.answers(lab.routers["B"].url)
    assert [(event.what, event.until_ns is None) for event in marked] == [("B", True), ("B", False)]
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize("wiring", [Relayed, Namespaces])
def test_an_undo_takes_away_its_own_fault_alone(wiring: type[Relayed | Namespaces], tmp_path: Path) -> None:
    """Two are done to a link; when the first one is over, the other one is still there."""
    if wiring is Namespaces:
        skip_unless_possible()
    within = Within(60.0, threading.Event())
    with Supervisor(tmp_path) as supervisor:
        topology = load.from_shape("line", shapes.names(2)).topology
        lab = Lab(supervisor, topology, wiring=wiring(supervisor), stand_ins=True)
        lab.start()
        first, second = (
            InProcess(lab).steps(action(do, "A--B", **fields))
            for do, fields in (("delay", {"ms": 5}), ("limit", {"bytes_per_second": 100_000}))
        )
        first.do.carry_out(within)
        second.do.carry_out(within)
        assert first.undo is not None
        first.undo.carry_out(within)
        limit = {"do": "limit", "bytes_per_second": 100_000}
        assert lab.tell({**limit, "link": "A--B"}) == {"link": "A--B", "faults": [limit]}


def test_a_stand_in_stands_still(lab: Lab, tmp_path: Path) -> None:
    """It answers nobody, and afterwards it does again, as the same process."""
    stopping, told = threading.Event(), list[str]()
    before = lab.parts["B"].process.pid
    story = [action("pause", "B")]
    playing = threading.Thread(
        target=play,
        args=(story, InProcess(lab), lambda _event: None, stopping, told.append),
        kwargs={"notes": Notes(tmp_path)},
        daemon=True,
    )
    playing.start()
    wait_until(lambda: told, 60, "the pause")
    stat = Path(f"/proc/{before}/stat")
    assert stat.read_text().rpartition(")")[2].split()[0] == "T"
    stopping.set()
    playing.join(60)
    assert management.answers(lab.routers["B"].url)
    assert lab.parts["B"].process.pid == before


def test_what_a_lab_cannot_do(lab: Lab, tmp_path: Path) -> None:
    """It is told before anything is done."""
    with pytest.raises(Problem, match="this lab cannot: it can kill, pause,"):
        play(
            [action("kill", "A"), action("cut", "A--B", after="1h")],
            InProcess(lab),
            lambda _event: None,
            threading.Event(),
            lambda _text: None,
            notes=Notes(tmp_path),
        )
    assert lab.parts["A"].alive


class Kept:
    """`inflight lab` in the folder of some `inflight fault`."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        (faults.folder / "two.yaml").write_text(_TOPOLOGY)
        self("up", "two.yaml", "--stand-ins")
        self.folder = faults.folder / ".inflight/labs/two"

    def __call__(self, *arguments: str) -> None:
        argv = [sys.executable, "-m", "deploy", "lab", *arguments]
        path = {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
        done = subprocess.run(
            argv,
            cwd=self.faults.folder,
            env={**self.faults.env, **path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def kept(faults: Faults) -> Iterator[Kept]:
    made = Kept(faults)
    yield made
    if (made.folder / "lab.json").exists():
        made("down", "--kill", "two")


def test_a_lab_that_is_kept(kept: Kept) -> None:
    """The only one there is; its own config says where it is marked, and `inflight run` on it shows it."""
    status, told = kept.faults("kill", "B", "--for", "300ms")
    assert status == 0, told
    assert " s router B is back after " in told
    part = RunPart(load_config(kept.folder / "inflight.yaml"), listen=f"127.0.0.1:{free_port()}")
    with part:
        wait_until(lambda: len(part.exporter.events) == 2, 60, "the events in the exporter")
    assert [event.do for event in part.exporter.events] == ["kill", "kill"]


def test_a_story_of_its_topology(kept: Kept) -> None:
    """By its name."""
    status, told = kept.faults("play", "both")
    assert status == 0, told
    assert [line.split(" s ", 1)[1].split(" after ")[0] for line in told.splitlines()] == [
        "router B killed",
        "router A paused",
        "router A goes on",
        "router B is back",
    ]
    status, told = kept.faults("play", "neither")
    assert (status, "no story 'neither'; there are: both" in told) == (2, True)


def test_what_the_lab_does_not_have(kept: Kept) -> None:
    """Before anything is done."""
    assert "the lab two has no Z; it has A, B, A--B, A--clients" in kept.faults("kill", "Z")[1]
    told = kept.faults("loss", "A--B", "percent=5")[1]
    assert "the lab two cannot: it can clear, cut, delay, kill," in told


def test_the_link_of_clients(kept: Kept) -> None:
    """Its ends are sorted as those of any other, and it may be called either way."""
    status, told = kept.faults("delay", "clients--A", "ms=20", "--for", "100ms")
    assert status == 0, told
    assert "link A--clients delayed by 20 ms" in told


def test_a_part_is_paused_that_does_not_run(kept: Kept) -> None:
    """That fails, and nothing of it is left to undo: neither now nor, where it dies meanwhile, later."""
    killed = kept.faults.begin("kill", "B")
    wait_until(lambda: len(kept.faults.marked_in(kept.folder / "monitor")) == 1, 60, "the event")
    status, told = kept.faults("pause", "B", "--for", "1s")
    assert (status, "pause failed: B does not run: start it first" in told) == (1, True), told
    assert len(kept.faults.noted()) == 1
    killed.terminate()
    assert killed.wait(60) == 0


def test_two_faults_of_one_link(kept: Kept) -> None:
    """The end of one is not the end of the other."""
    slow = kept.faults.begin("delay", "B--A", "ms=20")
    wait_until(lambda: _faults_of_link(kept) == ["delay"], 60, "the delay")
    status, told = kept.faults("limit", "A--B", "bytes_per_second=100000", "--for", "100ms")
    assert status == 0, told
    assert _faults_of_link(kept) == ["delay"]
    status, told = kept.faults("delay", "A--B", "ms=5", "--for", "100ms")
    assert (status, "which goes on; what undoes both is the same" in told) == (2, True)
    slow.terminate()
    told, _ = slow.communicate(timeout=60)
    assert slow.returncode == 0
    assert "link A--B is as it was after" in told
    assert _faults_of_link(kept) == []


def _faults_of_link(kept: Kept) -> list[str]:
    found = record.read(kept.folder)
    assert found is not None
    return [str(fault["do"]) for fault in found.faults.get("A--B", ())]


def test_a_part_that_someone_else_started(kept: Kept) -> None:
    """The undo finds it running, and that is all it wants."""
    begun = kept.faults.begin("kill", "B", "--for", "4s")
    wait_until(kept.faults.noted, 60, "the note")
    time.sleep(0.5)
    assert kept.faults("start", "B")[0] == 0
    told, _ = begun.communicate(timeout=60)
    assert begun.returncode == 0, told


def test_a_lab_that_ends_meanwhile(kept: Kept) -> None:
    """There is nothing left to undo, neither for who began it nor for who finds the note of a killed one."""
    begun = kept.faults.begin("kill", "B")
    killed = kept.faults.begin("pause", "A")
    wait_until(lambda: len(kept.faults.noted()) == 2, 60, "the notes")
    wait_until(lambda: len(kept.faults.marked_in(kept.folder / "monitor")) == 2, 60, "the events")
    killed.kill()
    killed.wait()
    kept("down", "two")
    begun.terminate()
    told, _ = begun.communicate(timeout=60)
    assert begun.returncode == 1
    assert "router B: nothing is left to undo: the lab in" in told
    status, told = kept.faults("undo")
    assert status == 0
    assert "A: nothing is left to undo: the lab in" in told
    assert kept.faults.noted() == []


def test_a_lab_that_is_just_ending(kept: Kept) -> None:
    """It takes its time, and carries out nothing any more: what was done to it ends with it."""
    begun = kept.faults.begin("delay", "A--B", "ms=5")
    wait_until(lambda: _faults_of_link(kept) == ["delay"], 60, "the delay")
    found = record.read(kept.folder)
    assert found is not None
    os.kill(found.keeper.pid, signal.SIGSTOP)  # it ends for as long as this
    try:
        record.write(kept.folder, found.model_copy(update={"state": "ending"}))
        begun.terminate()
        told, _ = begun.communicate(timeout=60)
    finally:
        os.kill(found.keeper.pid, signal.SIGCONT)
    assert begun.returncode == 1, told
    assert "link A--B: nothing is left to undo: the lab in" in told
    assert kept.faults.noted() == []


def test_a_keeper_that_stands_still(kept: Kept) -> None:
    """The action does not begin, which is told with what to do."""
    found = record.read(kept.folder)
    assert found is not None
    os.kill(found.keeper.pid, signal.SIGSTOP)
    try:
        status, told = kept.faults("kill", "B", "--for", "1s", "--deadline", "3s")
    finally:
        os.kill(found.keeper.pid, signal.SIGCONT)
    assert status == 2
    assert "router B: kill did not begin: the keeper of the lab two" in told
    assert kept.faults.noted() == []
