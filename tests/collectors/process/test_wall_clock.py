"""A wall clock that is set wrong on purpose."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collectors.process import wall_clock

_SECOND = 1_000_000_000
_PROJECT = Path(wall_clock.__file__).resolve().parents[2]
_PARTS = ("collectors", "streaming", "deploy/parts", "deploy/ping", "deploy/live_check")
_CLOCKS = ("time.time", "time.time_ns", "datetime.now")
# Tells how far its clock is off, each time that it is asked, and the hash of its machine.
_ASKED = """
import sys, time
from collectors.process import wall_clock
from collectors.probe.measure.clock import RunClock, boot_hash
run = RunClock.start()
for _ in sys.stdin:
    before = time.monotonic_ns()
    off = wall_clock.now_ns() - time.time_ns()
    print(off, run.step_ns(), time.monotonic_ns() - before, boot_hash(), flush=True)
"""


class _Process:
    def __init__(self, file: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ASKED],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, wall_clock.VARIABLE: str(file)},
            cwd=_PROJECT,
        )

    def ask(self) -> tuple[float, float, int]:
        """How far it is off and has stepped since its start, in seconds; the hash of its machine."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        off, step, _, machine = map(int, self._process.stdout.readline().split())
        return round(off / _SECOND, 1), round(step / _SECOND, 1), machine

    def end(self) -> str:
        return self._process.communicate(timeout=60)[1]


def test_without_the_variable_it_is_the_clock_itself() -> None:
    """So it costs nothing."""
    assert wall_clock.VARIABLE not in os.environ
    assert wall_clock.now_ns is time.time_ns


def test_a_process_takes_steps_while_it_runs(tmp_path: Path) -> None:
    """Its run sees them; without the file the clock is right again."""
    file = tmp_path / "clock"
    wall_clock.write(file, 3 * _SECOND)
    process = _Process(file)
    assert process.ask()[:2] == (3.0, 0.0)
    wall_clock.write(file, -2 * _SECOND)
    assert process.ask()[:2] == (-2.0, -5.0)
    file.unlink()
    assert process.ask()[:2] == (0.0, -3.0)
    assert "this process's clock is set wrong, on purpose, by INFLIGHT_CLOCK_FILE=" in process.end()


@pytest.mark.parametrize("text", [b"", b"soon\n", b"9" * 1_000_000, b"1" + b"0" * 19, b"\xff\x00", None])
def test_a_file_that_says_nothing_of_use_leaves_it_as_it_was(tmp_path: Path, text: bytes | None) -> None:
    file = tmp_path / "clock"
    wall_clock.write(file, 3 * _SECOND)
    process = _Process(file)
    assert process.ask()[0] == 3.0
    if text is None:
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(text)
    assert process.ask()[0] == 3.0
    assert process.ask()[0] == 3.0
    assert process.end().count("holds no number of ns") == 1


def test_processes_of_one_file_are_of_one_machine_and_all_others_of_another(tmp_path: Path) -> None:
    """Between machines offsets are measured; on one machine they are known."""
    one, same, other = (_Process(tmp_path / name) for name in ("one", "one", "other"))
    machines = [process.ask()[2] for process in (one, same, other)]
    for process in (one, same, other):
        process.end()
    assert machines[0] == machines[1]
    assert len({*machines, 0}) == 3


def test_an_offset_beyond_reason_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="an offset is of 1,000,000,000,000,000,000 ns at most"):
        wall_clock.write(tmp_path / "clock", 10**19)
    assert not (tmp_path / "clock").exists()


def test_no_part_of_inflight_asks_the_time_elsewhere() -> None:
    """Else a part would have two clocks. How old the archive's files are, the machine's clock tells."""
    asked = {
        f"{file.relative_to(_PROJECT)}:{node.lineno}"
        for part in _PARTS
        for file in (_PROJECT / part).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in _CLOCKS
    }
    assert {place.partition(":")[0] for place in asked} == {
        "collectors/process/wall_clock.py",
        "streaming/archive/write.py",
    }
