"""lab.json, and whether its keeper is still there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import wait_until

from deploy.lab import record as records
from deploy.lab.record import Part, ProcessId, Record


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def _id(pid: int) -> ProcessId:
    """The identity of a process, read by hand from what the kernel tells."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ProcessId(pid=pid, start_ticks=int(ticks), boot=boot)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    part = Part(name="A", kind="router", runs="stand-in", url="amqp://127.0.0.1:1", pid=7, state="up")
    written = Record(
        name="ring",
        state="up",
        keeper=ProcessId.own(),
        since_ns=1,
        wiring="direct",
        parts=(part,),
        links=("A--B",),
        faults={"A--B": ({"do": "delay", "ms": 50},)},
    )
    records.write(tmp_path, written)
    assert records.read(tmp_path) == written


def test_no_file_is_no_record(tmp_path: Path) -> None:
    assert records.read(tmp_path) is None
    assert records.read(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Invalid JSON"),
        ("[]", "Input should be an object"),
        ('{"version": 2}', "version: Input should be 1"),
        ("[" * 100_000, "Invalid JSON"),
        (" " * (1 << 20) + "{}", "more than 1048576 bytes"),
    ],
    ids=["empty", "no-object", "later", "nested", "huge"],
)
def test_another_file_is_refused_with_a_reason(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "lab.json").write_text(text)
    with pytest.raises(ValueError, match=reason):
        records.read(tmp_path)


def test_a_process_is_running_stopped_or_gone(sleeper: subprocess.Popen[bytes]) -> None:
    """Gone is also one that has ended and that nobody has waited for."""
    found = _id(sleeper.pid)
    assert found.state() == "running"
    os.kill(sleeper.pid, signal.SIGSTOP)
    wait_until(lambda: found.state() == "stopped", 10, "the stop")
    os.kill(sleeper.pid, signal.SIGKILL)
    wait_until(lambda: found.state() == "gone", 10, "the end")
    sleeper.wait()
    assert found.state() == "gone"


def test_a_pid_that_is_used_again_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    """Whether on this boot of the machine or on another."""
    found = _id(sleeper.pid)
    assert found.model_copy(update={"start_ticks": found.start_ticks - 1}).state() == "gone"
    assert found.model_copy(update={"boot": "another"}).state() == "gone"
    assert ProcessId.own() == _id(os.getpid())


def test_parts_from_outside(sleeper: subprocess.Popen[bytes]) -> None:
    """Where the keeper does not tell, a part is up or paused while its process is there, else down."""
    part = Part(name="A", kind="router", runs="stand-in", pid=sleeper.pid, state="starting")
    assert part.seen(there=True).state == "up"
    gone = part.seen(there=False)
    assert (gone.state, gone.pid) == ("down", None)
    os.kill(sleeper.pid, signal.SIGSTOP)
    wait_until(lambda: part.seen(there=True).state == "paused", 10, "the stop")
