"""What a supervisor promises about processes: real ones, small ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import wait_until

from deploy.embedded.supervise import orphans
from deploy.embedded.supervise.process import Interrupted, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

pytestmark = pytest.mark.slow

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
# Deaf to SIGTERM, and with a child of its own.
STUBBORN_CODE = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("up", flush=True)
time.sleep(600)
"""
STUBBORN = [sys.executable, "-c", STUBBORN_CODE]
OBEDIENT_CODE = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("clean", flush=True)))
print("up", flush=True)
time.sleep(600)
"""
# A supervisor with two processes, in a process that can be killed; runs this very file.
SUPERVISOR_CODE = """
import runpy, sys, time
from pathlib import Path
this = runpy.run_path(sys.argv[1])
with this["Supervisor"](Path(sys.argv[2]), stop_seconds=1) as s:
    s.start(this["spec"]("a", this["SLEEPER"], s))
    s.start(this["spec"]("b", this["STUBBORN"], s))
    print("ready", flush=True)
    time.sleep(600)
"""


def spec(name: str, argv: list[str], supervisor: Supervisor, **more: object) -> ProcessSpec:
    path = supervisor.log_path(name)
    return ProcessSpec(name=name, argv=argv, ready=lambda: "up" in path.read_text(), **more)  # type: ignore[arg-type]


def left_in(state_dir: Path) -> list[int]:
    return orphans.marked(f"{state_dir.resolve()}//")


@pytest.fixture
def supervisor_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own with a supervisor and two processes, one of them stubborn."""
    tests = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR_CODE, __file__, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tests.parent}:{tests}"},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_parts_end_with_the_block(tmp_path: Path) -> None:
    """After the `with` no process is left, not even a process's own child that was told nothing."""
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(spec("a", SLEEPER, supervisor))
        supervisor.start(spec("b", STUBBORN, supervisor, stop_seconds=0.3))
        assert len(left_in(tmp_path)) == 3
    assert left_in(tmp_path) == []


def test_a_part_that_ends_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    """A failed start names the process, what became of it and the last lines it wrote, and leaves nothing."""
    hub = ProcessSpec("hub", [sys.executable, "-c", "print('port taken'); exit(3)"], ready=lambda: False)
    with Supervisor(tmp_path) as supervisor:
        with pytest.raises(Problem, match=r"(?s)^hub did not start: ended with status 3\..*port taken$"):
            supervisor.start(hub)
        assert left_in(tmp_path) == []
        assert supervisor.start(spec("hub", SLEEPER, supervisor)).alive


def test_a_part_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    """The wait has a bound; the last reason of the readiness check is told."""

    def refuse() -> bool:
        raise ConnectionRefusedError("nobody there")

    with Supervisor(tmp_path) as supervisor:
        with pytest.raises(Problem, match=r"not ready after 0.2 s \(ConnectionRefusedError: nobody there\)"):
            supervisor.start(ProcessSpec("slow", SLEEPER, ready=refuse, timeout_seconds=0.2))
        assert left_in(tmp_path) == []


def test_a_program_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    """A missing program is a person's to mend: one line, no traceback."""
    with (
        Supervisor(tmp_path) as supervisor,
        pytest.raises(Problem, match="could not start ghost: No such file or directory: no-such-program"),
    ):
        supervisor.start(ProcessSpec("ghost", ["no-such-program"], ready=lambda: True))


def test_a_wait_is_given_up_when_the_caller_wants_to_end(tmp_path: Path) -> None:
    """Ctrl-C during a start need not wait for the process."""
    with Supervisor(tmp_path, stopping=lambda: True) as supervisor:
        with pytest.raises(Interrupted):
            supervisor.start(ProcessSpec("slow", SLEEPER, ready=lambda: False))
        assert left_in(tmp_path) == []


def test_a_killed_supervisor_leaves_nothing(
    tmp_path: Path, supervisor_process: subprocess.Popen[str]
) -> None:
    """After kill -9 of the supervisor its reaper ends the processes, the stubborn one too."""
    assert len(left_in(tmp_path)) == 3
    supervisor_process.kill()
    wait_until(lambda: left_in(tmp_path) == [], 10, "the end of all processes")
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(spec("a", SLEEPER, supervisor))


def test_ctrl_c_leaves_nothing(tmp_path: Path, supervisor_process: subprocess.Popen[str]) -> None:
    """When the supervisor has ended on SIGINT, its processes have."""
    supervisor_process.send_signal(signal.SIGINT)
    supervisor_process.wait(20)
    assert left_in(tmp_path) == []


def test_the_next_start_ends_what_even_the_reaper_could_not(
    tmp_path: Path, supervisor_process: subprocess.Popen[str]
) -> None:
    """With supervisor and reaper both killed, the next start in that directory clears up first."""
    for pid in _reapers(tmp_path):
        os.kill(pid, signal.SIGKILL)
    supervisor_process.kill()
    supervisor_process.wait()
    left = left_in(tmp_path)
    assert len(left) == 3
    with Supervisor(tmp_path) as supervisor:
        assert not set(left) & set(left_in(tmp_path))
        supervisor.start(spec("a", SLEEPER, supervisor))


def test_a_part_that_ends_by_itself_is_noticed(tmp_path: Path) -> None:
    """`check` tells the process and the end of its log; those that were ended on purpose are no finding."""
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(spec("a", SLEEPER, supervisor)).kill()
        supervisor.check()
        killed = supervisor.start(spec("b", SLEEPER, supervisor))
        os.kill(killed.pid, signal.SIGKILL)
        wait_until(lambda: not killed.alive, 10, "its end")
        with pytest.raises(Problem, match=r"(?s)^b ended unasked with signal SIGKILL\..*b\.log:\nup$"):
            supervisor.check()


def test_slow_parts_do_not_take_the_time_of_the_others(tmp_path: Path) -> None:
    """However long some take to end, those that obey end cleanly, and in the end all are gone."""
    with Supervisor(tmp_path, stop_seconds=1.5) as supervisor:
        supervisor.start(spec("first", [sys.executable, "-c", OBEDIENT_CODE], supervisor))
        for name in "abc":
            supervisor.start(spec(name, STUBBORN, supervisor))
    assert supervisor.log_path("first").read_text() == "up\nclean\n"
    assert left_in(tmp_path) == []


def test_a_directory_serves_one_supervisor_at_a_time(tmp_path: Path) -> None:
    """The second one is told who holds it; the processes of the first stay untouched."""
    with Supervisor(tmp_path) as supervisor:
        running = supervisor.start(spec("a", SLEEPER, supervisor))
        with pytest.raises(Problem, match=f"is in use by pid {os.getpid()}"), Supervisor(tmp_path):
            pass
        assert running.alive


def test_a_part_can_be_killed_and_started_again(tmp_path: Path) -> None:
    """A second start under the same name keeps the log; a failure tells only what that start wrote."""
    with Supervisor(tmp_path) as supervisor:
        first = supervisor.start(spec("a", SLEEPER, supervisor))
        with pytest.raises(ValueError, match="a process named a is running already"):
            supervisor.start(spec("a", SLEEPER, supervisor))
        first.kill()
        second = supervisor.start(spec("a", SLEEPER, supervisor))
        assert (first.alive, second.alive) == (False, True)
        wait_until(lambda: supervisor.log_path("a").read_text() == "up\nup\n", 10, "both lines")
        assert second.log_tail() == "up"
        assert supervisor.memory_bytes()["a"] > 1_000_000


def _reapers(state_dir: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(w.startswith(os.fsencode(f"{state_dir.resolve()}//")) for w in words):
                found.append(int(entry.name))
    assert len(found) == 1
    return found
