"""Actions by ssh: a real sshd on the loopback address, and a systemctl that writes down what it is told."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from acting import action
from helpers import free_port, missing, wait_until

from deploy.actions.program import Run
from deploy.actions.ssh import Ssh
from deploy.errors import Problem
from deploy.topology import load

if TYPE_CHECKING:
    from conftest import Faults  # type: ignore[import-not-found]  # pytest's

pytestmark = pytest.mark.slow
_SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")  # it wants to be called by its whole path
_UNITS = """#!/bin/sh
cd {folder}
[ -e "hang-$1" ] && {{ echo $$ >>hanging; while :; do sleep 1; done; }}
echo "$*" >>done
"""
_SSHD_CONFIG = """ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH={folder}/bin:/usr/local/bin:/usr/bin:/bin
"""
_TOPOLOGY = """version: 1
hosts:
  there:
    ansible_host: 127.0.0.1
    ansible_port: {port}
    ansible_user: {user}
    ansible_become: false
    ansible_ssh_private_key_file: {folder}/user_key
routers: {{A: {{host: there}}, B: {{host: there}}}}
links: [{{from: A, to: B}}]
"""


class Host:
    """A host with an sshd, and `inflight fault -t` for a topology on it."""

    def __init__(self, faults: Faults) -> None:
        self.faults, self.folder, self.port = faults, faults.folder, free_port()
        for name in ("host_key", "user_key", "other_key"):
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", self.folder / name]
            subprocess.run(keygen, check=True)
        units = self.folder / "bin" / "systemctl"
        units.parent.mkdir()
        units.write_text(_UNITS.format(folder=self.folder))
        units.chmod(0o755)
        given = {"port": self.port, "folder": self.folder, "user": getpass.getuser()}
        (self.folder / "sshd_config").write_text(_SSHD_CONFIG.format(**given))
        (self.folder / "topology.yaml").write_text(_TOPOLOGY.format(**given))
        (self.folder / "ssh_config").write_text(
            f"UserKnownHostsFile {self.folder}/known_hosts\nGlobalKnownHostsFile /dev/null\n"
        )
        self.know("host_key")
        self.log = (self.folder / "sshd.log").open("wb")
        self.sshd = subprocess.Popen(
            [str(_SSHD), "-D", "-e", "-f", "sshd_config"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stderr=self.log,
            start_new_session=True,
        )
        wait_until(lambda: "Server listening" in (self.folder / "sshd.log").read_text(), 60, "sshd")

    def know(self, key: str) -> None:
        """Let this be the key by which the host is known."""
        public = (self.folder / f"{key}.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")

    def __call__(self, *arguments: str) -> tuple[int, str]:
        return self.faults(*arguments, *self.where)

    @property
    def where(self) -> tuple[str, ...]:
        return ("-t", "topology.yaml", "--ssh-config", "ssh_config")

    def sessions(self) -> list[int]:
        """The processes of sshd that serve a connection."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == self.sshd.pid:
                    found.append(int(entry.name))
        return found

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.sshd.pid, signal.SIGCONT)
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.sshd.kill()
        self.sshd.wait()
        self.log.close()


@pytest.fixture
def host(faults: Faults) -> Iterator[Host]:
    if _SSHD is None:
        missing("sshd")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where Debian's sshd wants to be
    made = Host(faults)
    yield made
    made.end()


def test_a_unit_is_killed_and_started_again(host: Host) -> None:
    """The one that the playbook restarts; and both are marked."""
    status, told = host("kill", "B", "--for", "200ms")
    assert status == 0, told
    assert host.faults.done() == ["kill --signal=SIGKILL -- qdrouterd@B", "start -- qdrouterd@B"]
    assert " s router B is back after " in told
    assert [event.what for event in host.faults.marked()] == ["B", "B"]


@pytest.mark.parametrize("known_by", ["other_key", None])
def test_a_host_that_is_not_known_is_not_trusted(host: Host, known_by: str | None) -> None:
    """Neither one with another key, nor one that was never seen: nothing is done there."""
    if known_by is None:
        (host.folder / "known_hosts").unlink()
    else:
        host.know(known_by)
    status, told = host("kill", "B", "--for", "200ms")
    assert status == 2
    assert "router B: kill did not begin: ssh: exit status 255: Host key verification failed." in told
    assert host.faults.done() == []
    assert host.faults.noted() == []
    assert host.faults.marked() == []


def test_no_secret_is_seen_anywhere(host: Host) -> None:
    """Not in any command line, nor in what is told, marked or noted."""
    (host.folder / "hang-stop").touch()
    begun = host.faults.begin("stop", "B", "--json", *host.where)
    hanging = host.folder / "hanging"
    while not hanging.exists():
        assert begun.poll() is None
    lines = b"".join(
        (entry / "cmdline").read_bytes() for entry in Path("/proc").iterdir() if (entry / "cmdline").exists()
    )
    assert b"BatchMode=yes" in lines  # ssh is among them
    noted = "".join(note.read_text() for note in host.faults.noted())
    assert noted
    begun.terminate()
    told, _ = begun.communicate(timeout=60)
    marked = (host.folder / "state/events.jsonl").read_text()
    for secret in (host.folder / "user_key").read_text().splitlines()[1:-1]:
        assert secret.encode() not in lines
        assert secret not in told + noted + marked


def test_a_command_that_hangs_there(host: Host) -> None:
    """It is given up here, ended there, and undone."""
    (host.folder / "hang-stop").touch()
    status, told = host("stop", "B", "--deadline", "5s", "--for", "1s")
    assert status == 1, told
    assert "router B: stop failed: ssh" in told
    assert "router B: whatever was done of it is undone" in told
    assert host.faults.done() == ["start -- qdrouterd@B"]
    pid = int((host.folder / "hanging").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 60, "its end on the host")


def test_a_connection_that_is_dropped_in_the_middle(host: Host) -> None:
    """Whether it was done is not known, so it is undone, over another connection."""
    (host.folder / "hang-stop").touch()
    begun = host.faults.begin("stop", "B", "--for", "1s", *host.where)
    hanging = host.folder / "hanging"
    while not hanging.exists():
        assert begun.poll() is None
    for pid in host.sessions():
        os.kill(pid, signal.SIGKILL)
    told, _ = begun.communicate(timeout=60)
    assert begun.returncode == 1, told
    assert "router B: stop failed: ssh: exit status 255" in told
    assert host.faults.done() == ["start -- qdrouterd@B"]
    os.kill(int(hanging.read_text()), signal.SIGKILL)


def test_a_host_that_does_not_answer(host: Host) -> None:
    """Its kernel takes the connection, and nobody says anything: nothing is begun."""
    host.sshd.send_signal(signal.SIGSTOP)
    status, told = host("kill", "B", "--deadline", "2s", "--for", "1s")
    assert status == 2
    assert "router B: kill did not begin: ssh was not done within 2 s, and ended" in told
    assert host.faults.done() == []
    assert host.faults.noted() == []


def test_a_host_that_no_longer_answers(host: Host) -> None:
    """What was done cannot be undone, which is told and noted, until the host is there again."""
    begun = host.faults.begin("kill", "B", "--deadline", "4s", *host.where)
    host.faults.until_done("kill --signal=SIGKILL -- qdrouterd@B")
    host.sshd.send_signal(signal.SIGSTOP)
    begun.terminate()
    told, _ = begun.communicate(timeout=60)
    assert begun.returncode == 3, told
    assert "router B IS NOT AS IT WAS: kill could not be undone: ssh was not done within 4 s" in told
    host.sshd.send_signal(signal.SIGCONT)
    status, told = host.faults("undo")
    assert (status, host.faults.noted()) == (0, []), told
    assert host.faults.done()[-1] == "start -- qdrouterd@B"


def test_a_host_that_is_not_there(host: Host) -> None:
    """It is told with ssh's words, at once."""
    host.end()
    status, told = host("kill", "B", "--for", "1s")
    assert status == 2
    assert "kill did not begin: ssh: exit status 255: ssh: connect to host 127.0.0.1" in told
    assert host.faults.noted() == []


HOSTS = """version: 1
hosts:
  east: {ansible_host: 10.0.0.1, ansible_user: ops, ansible_port: 2222}
  west: {ansible_host: 10.0.0.2, ansible_user: root}
  here: {ansible_connection: local}
routers: {east: {}, west: {}, here: {}}
brokers: {store: {host: west, port: 61616}}
links: [{from: east, to: west}, {from: here, to: west}, {from: west, to: store}]
"""


def command_line(tmp_path: Path, verb: str, what: str) -> tuple[str, ...]:
    file = tmp_path / "t.yaml"
    file.write_text(HOSTS)
    do = Ssh(load.from_file(file).plan).steps(action(verb, what)).do
    assert isinstance(do, Run)
    return do.argv


@pytest.mark.parametrize(
    ("what", "host", "remote"),
    [
        ("east", "10.0.0.1", "timeout --kill-after=2 30 sudo -n systemctl restart -- qdrouterd"),
        ("west", "10.0.0.2", "timeout --kill-after=2 30 systemctl restart -- qdrouterd"),
        ("store", "10.0.0.2", "timeout --kill-after=2 30 systemctl restart -- artemis"),
    ],
)
def test_what_is_run_on_a_host(tmp_path: Path, what: str, host: str, remote: str) -> None:
    """Who is not root there becomes root, without being asked for a password."""
    argv = command_line(tmp_path, "restart", what)
    assert argv[-3:] == ("--", host, remote)
    assert ("-p" in argv, "-i" in argv) == (what == "east", False)
    options = {argv[at + 1] for at, word in enumerate(argv) if word == "-o"}
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10", "ForwardAgent=no"} <= options


@pytest.mark.parametrize(
    ("verb", "what", "told"),
    [
        ("cut", "east--west", "ssh has no way to cut east--west; it has kill, stop, start, restart,"),
        ("kill", "here", "here is reached by local, not by ssh"),
        ("kill", "nobody", "no router or broker is called nobody; there are: east, west, here, store"),
    ],
)
def test_what_ssh_cannot_do(tmp_path: Path, verb: str, what: str, told: str) -> None:
    """It is told before anything is done."""
    with pytest.raises(Problem) as problem:
        command_line(tmp_path, verb, what)
    assert told in problem.value.message
