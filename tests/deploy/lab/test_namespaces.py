"""Namespaces of a lab: what becomes of packets and of connections.

Needs root and the right to make network namespaces; without them it is skipped, with the reason.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import OPTIONAL, wait_until
from namespaces_possible import skip_unless_possible
from wired import PYTHON, Wired, topology

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.namespaces import commands

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _possible() -> None:
    skip_unless_possible()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    """A, B and C in a line."""
    with Supervisor(tmp_path_factory.mktemp("wired")) as supervisor:
        yield Wired(supervisor, topology("line", 3))


@pytest.fixture
def line(shared: Wired) -> Iterator[Wired]:
    """The same, its links as they were."""
    yield shared
    shared.tell("clear", "A--B")
    shared.tell("clear", "B--C")


def _within(share: float, came: int, of: int) -> bool:
    """Whether a count lies within five standard deviations of a share: it fails once in two million runs."""
    return abs(came - share * of) <= 5 * math.sqrt(of * share * (1 - share))


def test_a_link_as_it_is(line: Wired) -> None:
    """All packets come, in their order."""
    came = line.pass_packets("A", "B")
    assert came.numbers == list(range(300))


def test_parts_reach_their_neighbours_alone(line: Wired) -> None:
    """There is no way from A to C, and none out of the lab, but one from each to this host."""
    assert (
        line.dial("A", line.address("C"))
        == line.dial("A", "192.0.2.1")
        == "[Errno 101] Network is unreachable"
    )
    assert line.dial("A", line.address("B")) == "[Errno 111] Connection refused"
    assert line.dial("A", line.wiring.layout.block.host, 1) == "[Errno 111] Connection refused"


def test_loss(line: Wired) -> None:
    """Of 4,000 packets as many are missing as 5 % are, within what chance allows; and then none."""
    line.tell("loss", percent=5)
    came = line.pass_packets("A", "B", count=4000, pause_ms=0.1)
    assert _within(0.05, 4000 - len(came.numbers), 4000)
    assert len(set(came.numbers)) == len(came.numbers)
    line.tell("clear")
    assert len(line.pass_packets("A", "B").numbers) == 300


def test_loss_of_one_direction(line: Wired) -> None:
    """What is said of one direction does not touch the other."""
    line.tell("loss", percent=100, direction="A>B")
    assert line.pass_packets("A", "B").numbers == []
    assert len(line.pass_packets("B", "A").numbers) == 300
    assert len(line.pass_packets("B", "C").numbers) == 300


def test_delay_and_jitter(line: Wired) -> None:
    """No packet comes earlier than asked, some come as early as that, all come in order."""
    line.tell("delay", ms=20, jitter_ms=5)
    came = line.pass_packets("A", "B", count=500, pause_ms=2)
    assert came.numbers == list(range(500))
    assert 15 <= min(came.ms) < 20
    line.tell("delay", ms=60)
    assert min(line.pass_packets("B", "A", count=50).ms) >= 60
    line.tell("clear")
    assert min(line.pass_packets("A", "B").ms) < 15


def test_delay_of_one_direction(line: Wired) -> None:
    """The way back is as quick as before."""
    line.tell("delay", ms=40, direction="B>A")
    assert min(line.pass_packets("B", "A").ms) >= 40
    assert min(line.pass_packets("A", "B").ms) < 40


def test_reorder(line: Wired) -> None:
    """Some packets come before ones that were sent earlier, not more than asked, and none is lost."""
    line.tell("reorder", percent=20)
    came = line.pass_packets("A", "B", count=1000)
    assert sorted(came.numbers) == list(range(1000))
    assert 0 < len(came.overtakers) <= 200 + 5 * math.sqrt(1000 * 0.2 * 0.8)
    line.tell("clear")
    assert line.pass_packets("A", "B").overtakers == []


def test_faults_add_up(line: Wired) -> None:
    """Loss, delay and limit at once, told one after the other; each can be replaced."""
    line.tell("delay", ms=30)
    line.tell("limit", bytes_per_second=10_000_000)
    line.tell("loss", percent=50)
    assert line.tell("loss", percent=20)["faults"] == [
        {"do": "delay", "ms": 30},
        {"do": "limit", "bytes_per_second": 10_000_000},
        {"do": "loss", "percent": 20},
    ]
    came = line.pass_packets("A", "B", count=2000, pause_ms=0.5)
    assert _within(0.2, 2000 - len(came.numbers), 2000)
    assert min(came.ms) >= 30


def test_stall(line: Wired) -> None:
    """Nothing passes and nobody is told; the connection is there afterwards, and so is what was sent."""
    with line.connected("A", "B") as talk:
        talk.send("before")
        assert wait_until(talk.came, 20, "what was sent before") == "before"
        line.tell("stall")
        talk.send("meanwhile")
        time.sleep(1)
        assert talk.came() == ""
        assert line.dial("A", line.address("B"), within_seconds=1) == "timed out"
        line.tell("clear")
        assert wait_until(talk.came, 60, "what was sent meanwhile") == "meanwhile"


def test_cut(line: Wired) -> None:
    """A connection that says nothing is reset, too; new ones are refused until the link is cleared."""
    with line.connected("A", "B") as talk:
        line.tell("cut")
        reset = {"ConnectionResetError", "ConnectionAbortedError"}
        assert wait_until(talk.came, 20, "the end of the connection") in reset
        for part, other in (("A", "B"), ("B", "A")):
            assert line.dial(part, line.address(other)) == "[Errno 111] Connection refused"
        assert line.pass_packets("B", "C").numbers == list(range(300))
    line.tell("clear")
    with line.connected("A", "B") as talk:
        talk.send("again")
        assert wait_until(talk.came, 20, "what is sent afterwards") == "again"


@pytest.mark.parametrize("also", [{}, {"do": "delay", "ms": 5}], ids=["alone", "and delay"])
def test_limit(line: Wired, also: dict[str, Any]) -> None:
    """More than the bucket and the queue hold takes the time that the rate asks for, with a delay as well."""
    line.tell("limit", bytes_per_second=100_000)
    if also:
        line.tell(**also)
    code = """
import socket, sys, time
sock = socket.create_connection((sys.argv[1], 7002), 20)
sock.sendall(bytes(300_000))
sock.shutdown(socket.SHUT_WR)
sock.recv(1)
"""
    sink = f"""
import socket, time
with socket.create_server(({line.address("B")!r}, 7002)) as server:
    print("ready", flush=True)
    sock, _ = server.accept()
    first, got = None, 0
    while data := sock.recv(65536):
        first = first or time.monotonic()
        got += len(data)
    print(got, time.monotonic() - first)
"""
    python = [*PYTHON, "-c"]
    with subprocess.Popen(line.inside("B", [*python, sink]), stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout
        assert receiving.stdout.readline() == "ready\n"
        line.run("A", *python, code, line.address("B"))
        got, seconds = receiving.communicate(timeout=60)[0].split()
    assert int(got) == 300_000
    assert float(seconds) >= 300_000 / 100_000 * 0.9


def test_root_without_the_right() -> None:
    """In a container root may not be allowed to: it is told what it lacks, before anything is made."""
    code = "from deploy.lab.namespaces import needs; print(needs.missing())"
    without = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-all"]
    told = subprocess.run(
        [*without, sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout == (
        "no network namespace can be made here (unshare: unshare failed: Operation not permitted): give this"
        " container the capabilities SYS_ADMIN and NET_ADMIN, or use relays instead, which need no root (they"
        " know neither loss nor reorder)\n"
    )


def test_refused(line: Wired) -> None:
    """Links that are not there, and moving, which relays can, are refused in words."""
    with pytest.raises(Problem, match="name a `link`, one of A--B, B--C"):
        line.tell("cut", "A--C")
    with pytest.raises(Problem, match="cannot be moved; relays can"):
        line.tell("move", to="C")


def test_what_the_kernel_refuses(line: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that cannot be carried out says so, and leaves the link with the faults that it had."""
    line.tell("delay", ms=30)
    with monkeypatch.context() as patch:
        patch.setattr(commands, "_dropped", lambda traffic: ["nonsense"] if traffic.loss_percent else [])
        with pytest.raises(Problem, match="setting up the network of the namespace of A failed"):
            line.tell("loss", percent=100)
        refused, real = iter(["", "nonsense\n"]), commands.shape  # at the second end, the first being changed
        patch.setattr(commands, "shape", lambda *told, **more: next(refused, "") + real(*told, **more))
        with pytest.raises(Problem, match="failed with status"):
            line.tell("delay", ms=50)
    came = line.pass_packets("A", "B", count=50)
    assert came.numbers == list(range(50))
    assert 30 <= min(came.ms) < 50
    assert line.tell("limit", bytes_per_second=1_000_000)["faults"] == [
        {"do": "delay", "ms": 30},
        {"do": "limit", "bytes_per_second": 1_000_000},
    ]


def test_a_relay_of_packets_that_is_gone(line: Wired) -> None:
    """When the process by which packets wait is killed, they take the link itself."""
    if line.wiring.netem:
        pytest.skip(f"{OPTIONAL}this kernel has netem, and needs no relay of packets")
    line.tell("delay", ms=50)
    [relay] = [p for p in line.supervisor.processes if p.spec.name.startswith("packets-") and p.alive]
    os.kill(relay.pid, signal.SIGKILL)
    wait_until(lambda: not relay.alive, 20, "the end of the relay")
    wait_until(lambda: min(line.pass_packets("A", "B", count=20).ms) < 50, 20, "the link itself")
    line.tell("delay", ms=40)
    assert min(line.pass_packets("A", "B", count=20).ms) >= 40
