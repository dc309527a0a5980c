"""A lab that stays: its parts, its keeper, and what becomes of it when one of them ends or hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import real_routers
from helpers import wait_until
from lab_commands import Labs

from deploy.errors import Problem
from deploy.lab import client
from deploy.lab.client import LabRecord
from deploy.topology.programs import Program

pytestmark = pytest.mark.slow

_SECONDS = 60


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labs]:
    """A line A - B of stand-ins. A test that harms a part starts it again."""
    made = Labs(tmp_path_factory.mktemp("shared"))
    made.up("line", "--routers", "2")
    yield made
    made.run("down")
    made.close()


@pytest.fixture
def line(shared: Labs) -> Iterator[LabRecord]:
    """Ask as others ask it; it has to be well again after the test."""
    lab = client.at(shared.place("line"))
    assert lab is not None
    yield lab
    assert states(lab) == {"A": "up", "B": "up"}


def parts(lab: LabRecord) -> dict[str, dict[str, Any]]:
    """Return its routers."""
    found = lab.ask({"do": "status"})["parts"]
    return {part["name"]: part for part in found if part["kind"] == "router"}


def states(lab: LabRecord) -> dict[str, str]:
    return {name: part["state"] for name, part in parts(lab).items()}


def listens(url: str) -> bool:
    host, port = url.removeprefix("amqp://").split(":")
    with socket.socket() as sock:
        return sock.connect_ex((host, int(port))) == 0


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_command_has_returned_and_the_lab_is_there(line: LabRecord) -> None:
    """Its record tells where to connect, and what runs there."""
    record = line.record
    assert (record.name, record.state, record.wiring) == ("line", "up", "relays")
    *routers, links = record.parts
    assert [(part.name, part.kind, part.runs) for part in routers] == [
        ("A", "router", "stand-in for qdrouterd"),
        ("B", "router", "stand-in for qdrouterd"),
    ]
    assert all(listens(part.url) for part in routers)
    assert (links.kind, links.url) == ("wiring", "")
    assert "A--B" in record.links


def test_only_its_user_can_tell_it_anything(line: LabRecord) -> None:
    assert stat.S_IMODE(line.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((line.folder / "control").stat().st_mode) == 0o600
    assert stat.S_IMODE((line.folder / "lab.json").stat().st_mode) == 0o600


def test_a_part_is_killed_and_started_where_it_was(line: LabRecord) -> None:
    """The record tells its new pid to whoever reads the file."""
    before = parts(line)["B"]
    line.ask({"do": "kill", "part": "B"})
    assert parts(line)["B"] == {**before, "state": "down", "pid": None}
    assert not listens(before["url"])
    line.ask({"do": "start", "part": "B"})
    after = parts(line)["B"]
    assert after == {**before, "pid": after["pid"]}
    assert after["pid"] != before["pid"]
    assert listens(before["url"])
    reread = client.at(line.folder)
    assert reread is not None
    assert reread.record.parts[1].pid == after["pid"]


def test_a_part_stands_still_and_goes_on(line: LabRecord) -> None:
    """Also when somebody else has stopped it."""
    line.ask({"do": "pause", "part": "A"})
    assert states(line) == {"A": "paused", "B": "up"}
    line.ask({"do": "resume", "part": "A"})
    assert states(line) == {"A": "up", "B": "up"}
    pid = parts(line)["A"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: states(line)["A"] == "paused", _SECONDS, "the stop")
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: states(line)["A"] == "up", _SECONDS, "its end")


def test_a_part_that_ends_unasked_is_shown_and_the_others_go_on(shared: Labs, line: LabRecord) -> None:
    os.kill(parts(line)["B"]["pid"], signal.SIGKILL)
    wait_until(lambda: states(line) == {"A": "up", "B": "ended"}, _SECONDS, "the end of B")
    assert parts(line)["B"]["ended"] == "signal SIGKILL"
    assert "B ended unasked with signal SIGKILL" in shared.run("status", status=1)
    wait_until(lambda: "B ended unasked" in shared.run("logs", "keeper"), _SECONDS, "the keeper's log")
    line.ask({"do": "start", "part": "B"})
    assert "unasked" not in shared.run("status")


def test_faults_of_links_are_shown_until_they_are_cleared(shared: Labs, line: LabRecord) -> None:
    """One of each kind, and a repeat replaces; the file tells them, too."""
    for command in ({"do": "delay", "ms": 50}, {"do": "delay", "ms": 70}, {"do": "stall"}):
        line.ask({**command, "link": "A--B"})
    assert line.ask({"do": "status"})["faults"] == {"A--B": [{"do": "delay", "ms": 70}, {"do": "stall"}]}
    said = shared.run("status")
    assert "link A--B: delay ms=70\n" in said
    assert "link A--B: stall\n" in said
    line.ask({"do": "clear", "link": "A--B", "fault": "delay"})
    assert shared.record("line")["faults"] == {"A--B": [{"do": "stall"}]}
    line.ask({"do": "clear", "link": "A--B"})
    assert line.ask({"do": "status"})["faults"] == {}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"do": "kill", "part": "X"}, "one of A, B"),
        ({"do": "kill"}, "one of A, B"),
        ({"do": "kill", "part": ["A"]}, "one of A, B"),
        ({"do": "fly", "part": "A"}, "'fly' is none of clear, cut"),
        ({"do": None}, "is none of clear, cut"),
        ({}, "is none of clear, cut"),
        ({"do": "delay", "link": "A--X", "ms": 5}, "name a `link`, one of A--B"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    line: LabRecord, command: dict[str, Any], words: str
) -> None:
    with pytest.raises(Problem) as refused:
        line.ask(command)
    assert words in refused.value.message
    assert "Error:" not in refused.value.message


_START_B = """
import sys
from pathlib import Path
from deploy.lab import client
client.at(Path(sys.argv[1])).ask({"do": "start", "part": "B"})
"""


def start_that_hangs(line: LabRecord) -> subprocess.Popen[str]:
    """Return a process that waits for the start of B, which stands still before it is ready."""
    while True:
        line.ask({"do": "kill", "part": "B"})
        command = [sys.executable, "-c", _START_B, str(line.folder)]
        telling = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: parts(line)["B"]["pid"], _SECONDS, "the process of B")
        line.ask({"do": "pause", "part": "B"})
        with contextlib.suppress(subprocess.TimeoutExpired):
            telling.communicate(timeout=2)  # it was ready before it was paused
            continue
        return telling


def test_two_starts_of_one_part(line: LabRecord) -> None:
    """The second is refused while the first takes time; to kill the part is possible all the while."""
    telling = start_that_hangs(line)
    with pytest.raises(Problem, match="B is just being started; ask again"):
        line.ask({"do": "restart", "part": "B"})
    line.ask({"do": "kill", "part": "B"})
    _, problem = telling.communicate(timeout=_SECONDS)
    assert "B did not start: ended with signal SIGKILL" in problem
    line.ask({"do": "start", "part": "B"})


def test_a_start_that_goes_on_after_a_pause(line: LabRecord) -> None:
    telling = start_that_hangs(line)
    line.ask({"do": "resume", "part": "B"})
    assert telling.communicate(timeout=_SECONDS) == (None, "")


@pytest.mark.parametrize("program", real_routers.ROUTERS, ids=lambda program: program.name)
def test_real_routers_are_told_with_their_version(labs: Labs, program: Program) -> None:
    real_routers.wanted(program)
    labs.run("up", "line", "--routers", "2", "--program", program.name)
    found = labs.now("line")["parts"]
    asked = subprocess.run([program.command, "--version"], capture_output=True, text=True, check=True)
    assert {found[name]["runs"] for name in "AB"} == {f"{program.command} {asked.stdout.strip()}"}
    labs.run("down")
    labs.wait_nothing_left()


def test_two_labs_beside_each_other(labs: Labs) -> None:
    """With ports of their own; one ends without the other."""
    labs.up("line", "--routers", "2")
    labs.up("line", "--routers", "2", "--name", "other")
    urls = [part["url"] for name in ("line", "other") for part in labs.record(name)["parts"]]
    assert len(set(filter(None, urls))) == 4
    assert "several labs: name one of line, other" in labs.run("down", status=2)
    labs.run("down", "other")
    assert {part["state"] for part in labs.now("line")["parts"].values()} == {"up"}
    labs.run("down")
    labs.wait_nothing_left()
    assert "there is no lab" in labs.run("status")


def test_a_name_that_is_taken_is_refused(shared: Labs) -> None:
    """At once, and with what to do; also when both start at the same moment."""
    said = shared.run("up", "line", "--stand-ins", status=2)
    assert "`inflight lab down line` ends it" in said
    assert {part["state"] for part in shared.now("line")["parts"].values()} == {"up"}


def test_of_two_that_start_together_one_comes_up(labs: Labs) -> None:
    both = [labs.start("up", "line", "--routers", "2", "--stand-ins") for _ in range(2)]
    out = [one.communicate(timeout=120)[0] for one in both]
    assert sorted(one.returncode for one in both) == [0, 2], out
    assert {part["state"] for part in labs.now("line")["parts"].values()} == {"up"}
    labs.run("down")
    labs.wait_nothing_left()


def test_kill_9_of_the_keeper_leaves_nothing(labs: Labs) -> None:
    """The reaper ends the parts; status says so, down clears up, and up starts anew."""
    os.kill(labs.up("line")["keeper"]["pid"], signal.SIGKILL)
    labs.wait_nothing_left()
    found = labs.now("line", status=1)
    assert found["state"] == "gone"
    assert {part["state"] for part in found["parts"].values()} == {"down"}
    assert "`inflight lab down line` clears up" in found["problem"]
    labs.up("line")
    assert labs.now("line")["state"] == "up"
    os.kill(labs.record("line")["keeper"]["pid"], signal.SIGKILL)
    labs.run("down")
    assert not (labs.place("line") / "lab.json").exists()
    labs.wait_nothing_left()


def test_kill_9_of_keeper_and_reaper(labs: Labs) -> None:
    """The parts outlive both: down ends them."""
    keeper = labs.up("line")["keeper"]["pid"]
    part_pids = {part["pid"] for part in labs.record("line")["parts"]}
    assert len(part_pids) == 4
    os.kill(keeper, signal.SIGSTOP)  # else it would wait for the end of its child
    for pid in (*set(children(keeper)) - part_pids, keeper):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: set(labs.left()) == part_pids, _SECONDS, "parts alone")
    found = labs.now("line", status=1)
    assert {part["state"] for part in found["parts"].values()} == {"up"}
    labs.run("down")
    assert labs.left() == []


def test_a_keeper_that_stands_still(labs: Labs) -> None:
    """Everyone who asks is told so, at once; `down --kill` ends the lab without it."""
    keeper = labs.up("line")["keeper"]["pid"]
    os.kill(keeper, signal.SIGSTOP)
    found = labs.now("line", status=1)
    assert (found["state"], {part["state"] for part in found["parts"].values()}) == ("silent", {"up"})
    for arguments in (["down"], ["up", "line", "--stand-ins"]):
        assert "inflight lab down" in labs.run(*arguments, status=2)
    assert "it is stopped" in labs.run("down", status=2)
    labs.run("down", "--kill")
    labs.wait_nothing_left()
    assert "there is no lab" in labs.run("status")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_keeper_that_is_asked_to_end_ends_the_lab(labs: Labs, number: signal.Signals) -> None:
    os.kill(labs.up("line")["keeper"]["pid"], number)
    labs.wait_nothing_left()
    assert "there is no lab" in labs.run("status")


def test_a_lab_whose_folder_is_removed_ends(labs: Labs) -> None:
    """Nobody could find it any more."""
    labs.up("line")
    shutil.rmtree(labs.folder / ".inflight")
    labs.wait_nothing_left()


def test_down_keeps_the_logs_only(labs: Labs) -> None:
    labs.up("line")
    assert str(Path(".inflight/labs/line/logs")) in labs.run("down")
    left = {file.name for file in labs.place("line").iterdir()}
    assert left == {"inflight.yaml", "keeper.log", "lock", "logs", "topology.yaml"}
    labs.wait_nothing_left()
