"""`inflight fault` over a tool of its own: undone however it ends, and what it leaves at the next start."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers import wait_until

if TYPE_CHECKING:
    from conftest import Faults  # type: ignore[import-not-found]  # pytest's

pytestmark = pytest.mark.slow


def test_done_told_marked_and_undone(faults: Faults) -> None:
    """And nothing is left of it; what became of it is told as JSON."""
    status, told = faults.with_tool("kill", "B", "--for", "200ms", "--json")
    assert status == 0, told
    assert faults.done() == ["kill B", "start B"]
    first, second, last = told.splitlines()
    assert first.endswith(" s B killed")
    assert " s B is back after " in second
    became = json.loads(last)
    assert (became["do"], became["what"], became["problem"], became["left"]) == ("kill", "B", None, None)
    do, undo = became["results"]
    assert (do["status"], undo["status"]) == (0, 0)
    assert became["began_ns"] <= do["began_ns"] <= do["ended_ns"] <= undo["began_ns"] - 200_000_000
    began, ended = faults.marked()
    assert (began.text, began.until_ns, began.do, began.what, began.kind) == (
        "B killed",
        None,
        "kill",
        "B",
        "fault",
    )
    assert (ended.at_ns, ended.until_ns, ended.do) == (began.at_ns, became["ended_ns"], "kill")
    assert faults.noted() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_it_is_undone(faults: Faults, number: signal.Signals) -> None:
    """Ctrl-C, the end of a service, and the end of a terminal."""
    begun = faults.begin_with_tool("stop", "B")
    faults.until_done("stop B")
    assert len(faults.noted()) == 1
    begun.send_signal(number)
    told, _ = begun.communicate(timeout=60)
    assert begun.returncode == 0, told
    assert faults.done() == ["stop B", "start B"]
    assert faults.noted() == []


def test_what_a_killed_one_left_is_undone_by_the_next(faults: Faults) -> None:
    """Before anything else, and it says so; its event gets an end."""
    begun = faults.begin_with_tool("kill", "B")
    faults.until_done("kill B")
    begun.kill()
    begun.wait()
    assert "B killed, its pid" in faults("list")[1]
    status, told = faults.with_tool("pause", "C", "--for", "100ms")
    assert status == 0
    assert faults.done() == ["kill B", "start B", "pause C", "resume C"]
    assert f"by pid {begun.pid}, which did not live to undo it: undoing it now" in told.splitlines()[0]
    assert [event.until_ns is None for event in faults.marked() if event.what == "B"] == [True, False]
    assert faults("list") == (0, "")


def test_what_a_killed_one_had_at_work_is_ended_first(faults: Faults) -> None:
    """Else it might go on after the undo."""
    (faults.folder / "hang-stop").touch()
    begun = faults.begin_with_tool("stop", "B")
    faults_hanging = faults.folder / "hanging"
    while not (faults_hanging.exists() and faults_hanging.read_text().strip()):
        assert begun.poll() is None
    begun.kill()
    begun.wait()
    worker = int(faults_hanging.read_text())
    assert Path(f"/proc/{worker}").exists()
    assert faults("undo")[0] == 0
    state = Path(f"/proc/{worker}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
    assert faults.done() == ["start B"]


def test_two_callers_leave_each_other_alone(faults: Faults) -> None:
    """The second one undoes its own, and cannot do what the first one will undo; nor does `undo` touch it."""
    first = faults.begin_with_tool("kill", "B")
    faults.until_done("kill B")
    assert faults.with_tool("pause", "C", "--for", "100ms")[0] == 0
    status, told = faults.with_tool("stop", "B", "--for", "100ms")
    assert status == 2
    assert f"B: stop did not begin: B killed, by pid {first.pid}, which goes on" in told
    assert faults("undo")[0] == 0
    assert faults.done() == ["kill B", "pause C", "resume C"]
    first.send_signal(signal.SIGSTOP)  # it stands still, and is there
    assert faults("undo")[0] == 0
    assert faults.done() == ["kill B", "pause C", "resume C"]
    first.send_signal(signal.SIGCONT)
    first.terminate()
    first.wait(60)
    assert faults.done()[-1] == "start B"


def test_a_hanging_action_is_ended_and_undone(faults: Faults) -> None:
    """At its deadline, which its undo has, too."""
    (faults.folder / "hang-kill").touch()
    status, told = faults.with_tool("kill", "B", "--deadline", "1s", "--for", "1s")
    assert status == 1
    assert "B: kill failed: tool was not done within 1 s, and ended" in told
    assert "B: whatever was done of it is undone" in told
    assert faults.done() == ["start B"]
    assert [event.text for event in faults.marked()] == ["B killed", "B: kill failed"]


def test_an_undo_that_hangs(faults: Faults) -> None:
    """It is told loudly, the note stays, and the next start tries again."""
    (faults.folder / "hang-start").touch()
    status, told = faults.with_tool("kill", "B", "--deadline", "1s", "--for", "100ms")
    assert status == 3
    assert "B IS NOT AS IT WAS: kill could not be undone: tool was not done within 1 s, and ended" in told
    assert [event.until_ns for event in faults.marked()] == [None]
    assert "could not be undone" in faults("list")[1]
    assert faults("undo")[0] == 3
    status, told = faults.with_tool("kill", "B", "--deadline", "1s", "--for", "100ms")
    assert (status, faults.done()) == (3, ["kill B"])
    assert "B: kill did not begin: B killed" in told
    (faults.folder / "hang-start").unlink()
    status, told = faults("undo")
    assert (status, faults.done()) == (0, ["kill B", "start B"])
    assert "B: kill is undone" in told
    assert [event.until_ns is None for event in faults.marked()] == [True, False]


def test_one_that_fails_is_undone(faults: Faults) -> None:
    """It may have been done in part."""
    (faults.folder / "fail-stop").touch()
    status, told = faults.with_tool("stop", "B", "--for", "1m")
    assert status == 1
    assert "B: stop failed: tool: exit status 1: no way to stop" in told
    assert faults.done() == ["start B"]


def test_no_room_for_a_note(faults: Faults) -> None:
    """Then nothing is done: nobody could undo it after a kill -9."""
    faults.notes.parent.mkdir(parents=True)
    faults.notes.write_text("a file where the folder should be")
    status, told = faults.with_tool("kill", "B", "--for", "100ms")
    assert status == 2
    assert f"B: kill did not begin: notes of actions cannot be kept in {faults.notes}: " in told
    assert faults.done(begun=True) == []
    assert faults.marked() == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a full disk")
def test_a_full_disk_for_notes(faults: Faults) -> None:
    """In place of a note that is half there."""
    script = (
        f"mkdir -p {faults.notes} && mount -t tmpfs -o size=4k,nr_inodes=8 none {faults.notes} && "
        f'head -c 4096 /dev/zero >{faults.notes}/full; exec "$@"'
    )
    done = subprocess.run(
        [
            *("unshare", "-m", "sh", "-c", script, "sh"),
            *(sys.executable, "-m", "deploy", "fault", "kill", "B", "--with", faults.tool, "--for", "1s"),
        ],
        cwd=faults.folder,
        env={**faults.env, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert (
        "B: kill did not begin: the note of how to undo it cannot be written: No space left on device"
        in done.stdout
    )
    assert faults.done(begun=True) == []


def test_rubbish_among_the_notes(faults: Faults) -> None:
    """It is told, left alone, and hinders nobody."""
    faults.notes.mkdir(parents=True)
    (faults.notes / "x.json").write_text('{"version": 1, "undo": {"by": "run", "argv": "rm"}}')
    (faults.notes / "y.json").write_bytes(b"\0" * 100_000)
    status, told = faults.with_tool("kill", "B", "--for", "100ms")
    assert status == 0
    assert "x.json is no note of an action" in told
    assert "y.json is no note of an action" in told
    assert sorted(file.name for file in faults.noted()) == ["x.json", "y.json"]


def test_notes_are_the_user_s_alone(faults: Faults) -> None:
    """They say how to do things to a network."""
    begun = faults.begin_with_tool("kill", "B")
    faults.until_done("kill B")
    (note,) = faults.noted()
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert stat.S_IMODE(faults.notes.stat().st_mode) == 0o700
    begun.terminate()


def test_a_command_of_one_s_own(faults: Faults) -> None:
    """With no network named; its secret is in no output, note, error or event."""
    faults.env["TOKEN"] = "hush-hush"  # noqa: S105 -- of a test
    run = "sh -c 'echo \"$TOKEN\" | tee seen; exit 3'"
    status, told = faults("command", "B", f"run={run}", "undo=touch undone", 'secrets=["TOKEN"]', "--json")
    assert status == 1
    assert "B: command failed: sh: exit status 3: ***" in told
    assert (faults.folder / "seen").read_text() == "hush-hush\n"
    assert (faults.folder / "undone").exists()
    assert "hush" not in told
    assert "hush" not in (faults.folder / "state/events.jsonl").read_text()


def test_a_clock_that_is_wrong_for_a_while(faults: Faults) -> None:
    """As the file says that processes of Inflight watch; also after a kill -9."""
    file = faults.folder / "clock"
    wrong = ("clock", "probe", "offset_ms=-1500", "file=clock")
    assert faults(*wrong, "--for", "100ms")[0] == 0
    assert file.read_text() == "0\n"
    begun = faults.begin(*wrong)
    wait_until(lambda: file.read_text() == "-1500000000\n", 60, "the wrong clock")
    begun.kill()
    begun.wait()
    assert faults("undo")[0] == 0
    assert file.read_text() == "0\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("kill",), "kill what? Name a router, a broker or a link A--B"),
        (("play",), "name the story"),
        (("kill", "B", "ms"), "'ms' is not FIELD=VALUE"),
        (("kill", "B", "from={"), "from is no JSON"),
        (("kill", "B", "--for", "ever"), "for: 'ever' is not a duration"),
        (("kill", "B", "-c", "none.yaml", "--with", "docker"), "none.yaml: no such config"),
        (("kill", "B", "--ssh-config", "x"), "--inventory and --ssh-config go with -t TOPOLOGY"),
        (("kill", "B", "--lab", "x", "--with", "docker"), "--lab is one network, -t and --with are others"),
        (("kill", "B"), "there is no lab in"),
        (("play", "x", "--with", "docker"), "the topology has no story 'x'; there are: none"),
    ],
)
def test_misuse(faults: Faults, arguments: tuple[str, ...], told: str) -> None:
    """Nothing is done, and the status is 2."""
    status, said = faults(*arguments)
    assert (status, told in said) == (2, True), said
    assert "Traceback" not in said
