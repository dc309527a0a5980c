"""Programs: ended with all their processes in time; what they wrote is kept, but no secret."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from deploy.actions.program import OUTPUT_BYTES, Run, run
from deploy.actions.steps import FailedError, NotBegunError, Within

PATIENT = Within(60.0, threading.Event())


def sh(script: str, within: Within = PATIENT, **more: object) -> str:
    return run(["sh", "-c", script], within, **more).output  # type: ignore[arg-type]  # of a test


def gone(pid: int) -> bool:
    """Whether a process has ended, if need be after a moment: it is a zombie of someone else's until then."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_status_and_output_are_kept() -> None:
    """Both of what it says on standard output and as an error."""
    result = run(["sh", "-c", "echo one; echo two >&2"], PATIENT)
    assert (result.status, result.output) == (0, "one\ntwo\n")


def test_any_other_status_is_a_failure() -> None:
    """Which tells the last line, without what could steer a terminal, and keeps all."""
    with pytest.raises(FailedError) as failed:
        sh("echo first; printf '\\033[31mno such part\\n'; exit 3")
    assert str(failed.value) == "sh: exit status 3: ?[31mno such part"
    assert failed.value.result is not None
    assert (failed.value.result.status, failed.value.result.output[:6]) == (3, "first\n")


def test_a_program_that_is_not_there() -> None:
    """Nothing was begun, so nothing has to be undone."""
    with pytest.raises(NotBegunError, match=r"^/no/such cannot be run: No such file or directory$"):
        run(["/no/such"], PATIENT)


@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_one_that_hangs_is_ended_with_its_whole_group(tmp_path: Path, deaf: bool) -> None:  # noqa: FBT001 -- a parameter
    """Also one that does not listen to SIGTERM, and what it has started."""
    pids = tmp_path / "pids"
    ignoring = "trap '' TERM; " if deaf else ""
    began = time.monotonic()
    with pytest.raises(FailedError, match="sh was not done within 1 s, and ended"):
        sh(f"{ignoring}sleep 1000 & echo $$ $! >{pids}; wait; wait", Within(1.0, threading.Event()))
    assert time.monotonic() - began < 30
    assert all(gone(int(pid)) for pid in pids.read_text().split())


@pytest.mark.slow
def test_one_that_stands_still_is_ended(tmp_path: Path) -> None:
    """A process that was stopped hears nothing but SIGKILL."""
    pid = tmp_path / "pid"
    with pytest.raises(FailedError, match="not done within 1 s"):
        sh(f"echo $$ >{pid}; kill -STOP $$", Within(1.0, threading.Event()))
    assert gone(int(pid.read_text()))


def test_who_is_to_stop_does_not_wait() -> None:
    """Ctrl-C ends it, and its undo comes next."""
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(FailedError, match="sh was ended, as this is to stop"):
        sh("sleep 1000", Within(60.0, stopping))


def test_what_it_leaves_running_keeps_nobody_waiting() -> None:
    """A daemon holds the pipe open for good."""
    began = time.monotonic()
    output = sh("setsid sleep 20 & echo started")
    assert output == "started\n"
    assert time.monotonic() - began < 15


def test_the_end_of_the_output_is_kept() -> None:
    """However much it writes."""
    output = sh(f"head -c 3000000 /dev/zero | tr '\\0' x; echo the end; printf {'y' * 5}")
    assert len(output) <= OUTPUT_BYTES
    assert output.endswith("xthe end\nyyyyy")


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_no_secret_is_kept(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    """Nor a part of one that stands where the output is cut."""
    secret = "correct horse battery staple"  # noqa: S105 -- of a test
    monkeypatch.setenv("TOKEN", secret)
    python = f"import os; print('a' * 99 + os.environ['TOKEN'] + 'z' * {OUTPUT_BYTES - before}, end='')"
    script = f'{sys.executable} -c "{python}"'
    for output in (
        sh(script, secrets=["TOKEN"]),
        sh('echo "$TOKEN"; echo again "$TOKEN"', secrets=["TOKEN"]),
    ):
        assert not any(secret[start : start + 4] in output for start in range(len(secret) - 3))
    with pytest.raises(FailedError) as failed:
        sh('echo "wrong token: $TOKEN"; exit 1', secrets=["TOKEN"])
    assert str(failed.value) == "sh: exit status 1: wrong token: ***"


def test_arguments_are_no_shell_s(tmp_path: Path) -> None:
    """What stands in them is not looked at."""
    assert Run(argv=("echo", "$(id)", "; id", "`id`"), folder=tmp_path).carry_out(PATIENT).output == (
        "$(id) ; id `id`\n"
    )
    assert os.listdir(tmp_path) == []  # noqa: PTH208 -- names alone
