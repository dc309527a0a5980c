"""`inflight lab up` as a command: what it shows, and that it leaves nothing where it is not to be."""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import wait_until
from lab_commands import Labs

pytestmark = pytest.mark.slow

_HEAD = ["part", "state", "runs", "where", "pid"]


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    assert any(words in line for line in process.stdout), f"it ended without {words!r}"


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    """Put a program on the PATH before all others, and return that PATH."""
    folder.mkdir()
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_up_says_what_starts_what_is_there_and_what_to_do(labs: Labs) -> None:
    """In 80 columns."""
    lines = labs.run("up", "ring", "--routers", "4", "--stand-ins").splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0].endswith(" s starting ring: 4 routers")
    assert {line.split(" s ")[1].split()[0] for line in lines if " is ready, pid " in line} > set("ABCD")
    head = next(number for number, line in enumerate(lines) if line.split() == _HEAD)
    found = [line.split() for line in lines[head + 1 : head + 5]]
    assert [row[:5] for row in found] == [[name, "up", "stand-in", "for", "qdrouterd"] for name in "ABCD"]
    steps = [line.split("#")[0].strip() for line in lines if line.startswith("  inflight ")]
    assert steps == [
        "inflight run -c .inflight/labs/ring/inflight.yaml",
        "inflight status -c .inflight/labs/ring/inflight.yaml",
        "inflight fault kill B --for 10s",
        "inflight lab down ring",
    ]
    labs.run("down")


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        *((signal.SIGINT, seconds) for seconds in (0.0, 0.5, 1.0)),
        *((number, 0.7) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)),
    ],
)
def test_an_interrupted_start_leaves_nothing(labs: Labs, number: signal.Signals, seconds: float) -> None:
    """At any moment, in whatever way; what is up by then stays up."""
    process = labs.start("up", "line", "--routers", "6", "--stand-ins")
    read_until(process, "starting line")
    time.sleep(seconds)
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    if "line is up" in out:
        labs.run("down")  # before the signal, which may have come when all was done and told
    elif number in {signal.SIGINT, signal.SIGTERM}:
        assert "given up: nothing of the lab line is left" in out
        assert not labs.place("line").exists()
    labs.wait_nothing_left()
    assert "there is no lab" in labs.run("status")


def test_ctrl_c_while_a_part_hangs_in_its_start(labs: Labs, tmp_path: Path) -> None:
    env = program(tmp_path / "bin", "qdrouterd", "exec sleep 600")
    process = labs.start("up", "line", "--routers", "2", env=env)
    wait_until(lambda: len(labs.left()) >= 4, 60, "keeper, reaper and parts")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 2
    assert labs.left() == []


def test_ctrl_c_while_the_keeper_stands_still(labs: Labs) -> None:
    """After a while it is killed."""
    process = labs.start("up", "line", "--routers", "6", "--stand-ins")
    wait_until((labs.place("line") / "lab.json").exists, 60, "the record")
    keeper = labs.record("line")["keeper"]["pid"]
    os.kill(keeper, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2, out
    labs.wait_nothing_left()


def test_a_keeper_that_is_killed_while_the_lab_starts(labs: Labs, tmp_path: Path) -> None:
    """The command says so, and clears up what it left."""
    env = program(tmp_path / "bin", "qdrouterd", "exec sleep 600")
    process = labs.start("up", "line", "--routers", "2", env=env)
    wait_until(lambda: len(labs.left()) >= 4, 60, "keeper, reaper and parts")
    os.kill(labs.record("line")["keeper"]["pid"], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "the keeper of line ended with status -9" in out
    labs.wait_nothing_left()
    assert "there is no lab" in labs.run("status")


def test_down_while_the_lab_starts(labs: Labs, tmp_path: Path) -> None:
    env = program(tmp_path / "bin", "qdrouterd", "exec sleep 600")
    process = labs.start("up", "line", "--routers", "2", env=env)
    wait_until(lambda: len(labs.left()) >= 4, 60, "keeper, reaper and parts")
    assert labs.now("line")["state"] == "starting"
    labs.run("down")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "the lab line was ended while it started" in out
    assert labs.left() == []


def test_a_part_that_does_not_start(labs: Labs, tmp_path: Path) -> None:
    """The reason stands on the screen, with the end of its log; nothing stays but the logs."""
    env = program(tmp_path / "bin", "qdrouterd", "echo the dog ate it >&2; exit 7")
    said = labs.run("up", "line", "--routers", "2", status=2, env=env)
    assert "the lab line did not start: " in said
    assert "did not start: ended with status 7" in said
    assert "the dog ate it" in said
    assert "Traceback" not in said
    assert labs.left() == []
    assert "there is no lab" in labs.run("status")


def test_a_topology_with_mistakes_starts_nothing(labs: Labs) -> None:
    file = labs.folder / "net.yaml"
    file.write_text("version: 1\nrouters: {A: {}, B: {}}\n")
    said = labs.run("up", "net.yaml", status=1)
    assert "net.yaml:2: routers.B: not connected to A" in said
    assert not (labs.folder / ".inflight").exists()


def test_a_file_or_a_name_that_is_none(labs: Labs) -> None:
    assert "no such file, and no shape" in labs.run("up", "nothing.yaml", status=2)
    assert "cannot be the name of a lab" in labs.run("up", "ring", "--name", "../x", status=2)
    assert "--wiring wool" in labs.run("up", "ring", "--wiring", "wool", status=2)


def test_a_place_where_nothing_can_be_written(labs: Labs) -> None:
    """A file stands there; and one on which not even root may make a folder."""
    place = labs.folder / ".inflight"
    place.write_text("")
    assert f"a lab needs its folder {labs.place('line')}: Not a directory" in labs.run("up", "line", status=2)
    place.unlink()
    place.symlink_to("/sys/kernel")
    said = labs.run("up", "line", status=2)
    assert f"a lab needs its folder {labs.place('line')}: " in said
    assert "Traceback" not in said


def test_a_full_disk(labs: Labs) -> None:
    """Said of the file that could not be written; nothing stays."""
    labs.place("line").mkdir(parents=True)
    (labs.place("line") / "topology.yaml").symlink_to("/dev/full")
    said = labs.run("up", "line", "--routers", "2", "--stand-ins", status=2)
    assert "No space left on device" in said
    assert "Traceback" not in said
    assert labs.left() == []


def test_a_lab_outlives_its_terminal(labs: Labs) -> None:
    """Started from a shell on a terminal that is closed then, with SIGHUP to all who were started in it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(labs.folder)
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[3])
        command = [sys.executable, "-m", "deploy", "lab", "up", "line", "--stand-ins"]
        os.execv(sys.executable, command)  # noqa: S606 -- it takes the place of this process on the terminal
    shown = b""
    while b"inflight lab down" not in shown:
        shown += os.read(terminal, 65_536)
    os.close(terminal)
    os.waitpid(pid, 0)
    time.sleep(1.5)  # what the closed terminal would do is done by then, and the keeper has looked around
    assert labs.now("line")["state"] == "up"
    labs.run("down")
    labs.wait_nothing_left()
