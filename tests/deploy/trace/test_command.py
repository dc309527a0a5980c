"""`inflight trace` as a command: against stand-ins, real routers, and peers that are none."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import free_port, wait_until
from real_routers import ROUTERS, line, running, wanted
from replay import Replay
from scripted import ScriptedNode
from standin_clients import Clients, StandIn

from deploy.topology.programs import Program

pytestmark = pytest.mark.slow

TRACE = (sys.executable, "-m", "deploy", "trace")
_WIDTH = {**os.environ, "COLUMNS": "80", "LINES": "24"}


def trace(*arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TRACE, *arguments], capture_output=True, text=True, check=False, timeout=seconds, env=_WIDTH
    )


def found(*arguments: str, status: int = 0) -> dict[str, Any]:
    """What it prints as JSON, with the exit status that is expected."""
    ran = trace(*arguments, "--json")
    assert ran.returncode == status, ran.stdout + ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def hops(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["router"].removesuffix(".stand-in"): row for row in told["hops"]}


def receive(clients: Clients, port: int) -> None:
    """Receive from closest/t, with credit for seven messages."""
    link = clients.receiver(port, "closest/t", credit=7).link
    transport = link.connection.transport
    clients.wait(lambda: transport.pending() == 0, "place for the credit")


QUICK = ("--count", "3", "--interval", "100ms")


@pytest.fixture
def clients() -> Iterator[Clients]:
    made = Clients()
    yield made
    made.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., StandIn]]:
    begun: list[StandIn] = []

    def start(name: str, *options: str) -> StandIn:
        begun.append(StandIn(tmp_path, name, *options))
        return begun[-1]

    yield start
    for one in begun:
        one.process.send_signal(signal.SIGCONT)
        one.stop()


@pytest.fixture(params=["dispatch", "skupper"])
def chain(start: Callable[..., StandIn], clients: Clients, request: Any) -> dict[str, StandIn]:
    """A - B - C of one flavour, a receiver of closest/t at C whose way A knows."""
    flavour = ("--flavour", request.param)
    a = start("A", *flavour)
    b = start("B", *flavour, "--connect", f"127.0.0.1:{a.port}")
    c = start("C", *flavour, "--connect", f"127.0.0.1:{b.port}")
    receive(clients, c.port)
    url = f"amqp://127.0.0.1:{a.port}"
    wait_until(lambda: trace(url, "closest/t", "--count", "1").returncode == 0, 30, "the way to C")
    return {"A": a, "B": b, "C": c}


def test_the_way_and_its_figures(chain: dict[str, StandIn]) -> None:
    """Each router on it in its order, with answers to all requests, and the receiver's credit."""
    told = found(f"amqp://127.0.0.1:{chain['A'].port}", "closest/t", *QUICK)
    rows = hops(told)
    assert [*rows] == ["A", "B", "C"]
    assert [row["role"] for row in rows.values()] == ["here", "transit", "target"]
    assert told["receivers_at"] == ["C.stand-in"]
    assert rows["C"]["receivers"] == {"links": 1, "messages": 0, "credit": 7}
    for row in rows.values():
        assert (row["sent"], row["answered"], row["missing_percent"]) == (3, 3, 0)
        assert 0 < row["best_ns"] <= row["median_ns"] <= row["p99_ns"]
    assert rows["B"]["step_ns"] == rows["B"]["median_ns"] - rows["A"]["median_ns"]
    assert (told["findings"], told["distribution"]) == ([], "closest")


def test_a_table_of_80_columns(chain: dict[str, StandIn]) -> None:
    """Printed once where there is no terminal; it says what a round trip holds."""
    ran = trace(f"amqp://127.0.0.1:{chain['A'].port}", "closest/t", *QUICK)
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [text.split()[0] for text in lines[1:5]] == ["router", "A.stand-in", "B.stand-in", "C.stand-in"]
    assert "a missing answer names no direction" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_all_routers_and_no_receivers(chain: dict[str, StandIn]) -> None:
    """Without an address the whole mesh; with one that nobody receives from, exit status 1."""
    url = f"amqp://127.0.0.1:{chain['B'].port}"
    assert {*hops(found(url, *QUICK))} == {"A", "B", "C"}
    told = found(url, "closest/unheard", status=1)
    assert "nobody receives from closest/unheard" in told["findings"][0]


class Terminal:
    """The command in a terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments: str) -> None:
        self._terminal, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [*TRACE, *arguments], stdin=child, stdout=child, stderr=child, env=_WIDTH | {"TERM": "xterm"}
        )
        os.close(child)
        self.shown = ""

    def until(self, text: str, seconds: float = 60) -> None:
        """Wait until it shows the text, from what was shown by now on."""
        begin, deadline = len(self.shown), time.monotonic() + seconds
        while text not in self.shown[begin:]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.shown[begin:]!r}"
            if not self._read():
                assert text in self.shown[begin:], self.shown[begin:]

    def end(self) -> list[str]:
        """Wait for its end; returns the lines of the last picture."""
        deadline = time.monotonic() + 60
        while self._read():
            assert time.monotonic() < deadline, "it does not end"
        self.process.wait(10)
        last = self.shown[self.shown.rindex("amqp://") :]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).splitlines()

    def _read(self) -> bool:
        if not select.select([self._terminal], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:  # the command has ended, and nobody else has the terminal
            data = b""
        self.shown += data.decode(errors="replace")
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        os.close(self._terminal)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    begun: list[Terminal] = []

    def open_one(*arguments: str) -> Terminal:
        begun.append(Terminal(*arguments))
        return begun[-1]

    yield open_one
    for one in begun:
        one.close()


def test_a_terminal_is_kept_up_to_date_until_it_is_interrupted(
    chain: dict[str, StandIn], terminal: Callable[..., Terminal]
) -> None:
    """Round after round; Ctrl-C ends with the table so far, and with the status of what was seen."""
    live = terminal(f"amqp://127.0.0.1:{chain['A'].port}", "closest/t", "--count", "1000")
    live.until("round 2 of 1000")
    live.until("round 3 of 1000")
    live.process.send_signal(signal.SIGINT)
    lines = live.end()
    assert live.process.returncode == 0
    assert [text.split()[0] for text in lines[1:5]] == ["router", "A.stand-in", "B.stand-in", "C.stand-in"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("do", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_router_that_is_lost_on_the_way(
    chain: dict[str, StandIn], terminal: Callable[..., Terminal], do: signal.Signals
) -> None:
    """It ends nevertheless, with what is missing beside the names, and exit status 1."""
    url = f"amqp://127.0.0.1:{chain['A'].port}"
    live = terminal(url, "closest/t", "--count", "12", "--interval", "500ms", "--timeout", "1s")
    live.until("round 2 of 12")
    chain["B"].process.send_signal(do)
    lines = live.end()
    missing = {text.split()[0]: float(text.split()[2]) for text in lines[2:5]}
    assert missing["A.stand-in"] == 0
    assert 0 < missing["B.stand-in"] < 100
    assert 0 < missing["C.stand-in"] < 100
    assert any(text.startswith("B.stand-in does not answer") for text in lines)
    assert live.process.returncode == 1
    if do == signal.SIGKILL:
        chain["B"].start()


def test_one_that_hangs_from_the_start(chain: dict[str, StandIn]) -> None:
    """The router at the URL itself: told within the timeout, exit status 2."""
    chain["A"].process.send_signal(signal.SIGSTOP)
    ran = trace(f"amqp://127.0.0.1:{chain['A'].port}", "--timeout", "1s")
    chain["A"].process.send_signal(signal.SIGCONT)
    assert ran.returncode == 2
    assert "took the connection but did not answer AMQP within 1s" in ran.stderr


def test_an_edge(start: Callable[..., StandIn], clients: Clients) -> None:
    """From it over its interior router, and to a receiver at another edge."""
    b = start("B")
    up = ("--mode", "edge", "--connect", f"127.0.0.1:{b.port},role=edge")
    e, f = start("E", *up), start("F", *up)
    receive(clients, f.port)
    url = f"amqp://127.0.0.1:{e.port}"
    wait_until(lambda: trace(url, "closest/t", "--count", "1").returncode == 0, 30, "the way to F")
    rows = hops(found(url, "closest/t", *QUICK))
    assert [(name, row["role"]) for name, row in rows.items()] == [
        ("E", "here"),
        ("B", "transit"),
        ("F", "edge"),
    ]
    assert rows["F"]["receivers"] == {"links": 1, "messages": 0, "credit": 7}
    assert {*hops(found(url, *QUICK))} == {"E", "B", "F"}


@pytest.mark.parametrize(
    ("product", "text"),
    [
        ("apache-activemq-artemis", "is no router: it calls itself 'apache-activemq-artemis'"),
        ("something-else", "no answer to management within 1s; is it a router"),
    ],
)
def test_a_peer_that_is_no_router(product: str, text: str) -> None:
    """A broker is told by its name, before it is sent anything; another one by its silence."""
    node = ScriptedNode(lambda _request: [], product=product)
    ran = trace(node.url, "--timeout", "1s")
    node.close()
    assert ran.returncode == 2
    assert text in ran.stderr
    assert len(node.requests) == (0 if "artemis" in product else 1)


def test_a_mesh_that_answers_with_the_replies_of_real_routers() -> None:
    """Over a connection, with the edge behind its interior router."""
    node = ScriptedNode(Replay("qdrouterd"))
    rows = hops(found(node.url, *QUICK))
    node.close()
    assert [*rows] == ["QDR.A", "QDR.B", "QDR.E", "QDR.C"]
    operations = {request.properties["operation"] for request in node.requests}
    assert operations == {"QUERY", "READ"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["router:5672"], "is not a URL like amqps://host:port"),
        (["amqp://user:secret@router"], "a URL must not hold a user or a password"),
        (["amqp://router", "--user", "u"], "--user and --password-file go together"),
        (["amqp://router", "--rate", "51"], "51"),
        (["amqp://router", "--interval", "soon"], "soon"),
        (["http://router"], "is not a URL like amqps://host:port"),
    ],
)
def test_misuse_is_told(arguments: list[str], text: str) -> None:
    """In one line, exit status 2, and without the secret."""
    ran = trace(*arguments)
    assert ran.returncode == 2
    assert text in ran.stderr
    assert "secret" not in ran.stderr


def test_nothing_listens() -> None:
    ran = trace(f"amqp://127.0.0.1:{free_port()}")
    assert ran.returncode == 2
    assert "cannot be reached" in ran.stderr


@pytest.mark.e2e
@pytest.mark.parametrize("program", ROUTERS, ids=[program.name for program in ROUTERS])
def test_real_routers(program: Program, tmp_path: Path, clients: Clients) -> None:
    """The way through three of them, and the credit of the receiver at its end."""
    with running(line(program), tmp_path) as lab:
        receive(clients, int(lab.routers["C"].url.rpartition(":")[2]))
        url = lab.routers["A"].url
        wait_until(lambda: trace(url, "closest/t", "--count", "1").returncode == 0, 30, "the way to C")
        told = found(url, "closest/t", *QUICK)
    rows = hops(told)
    assert [(name, row["role"]) for name, row in rows.items()] == [
        ("A", "here"),
        ("B", "transit"),
        ("C", "target"),
    ]
    assert {row["missing_percent"] for row in rows.values()} == {0}
    assert rows["C"]["receivers"] == {"links": 1, "messages": 0, "credit": 7}
    assert rows["C"]["link"]["links"] > 0
    assert told["findings"] == []


_POLICY = """
router {
    mode: interior
    id: R
}
listener {
    host: 127.0.0.1
    port: %d
    authenticatePeer: no
    saslMechanisms: ANONYMOUS
}
policy {
    enableVhostPolicy: true
    defaultVhost: $default
}
vhost {
    hostname: $default
    allowUnknownUser: true
    groups: {
        "$default": {
            "remoteHosts": "*",
            "allowDynamicSource": true,
            "allowAnonymousSender": %s,
            "targets": "orders"
        }
    }
}
"""


@pytest.mark.e2e
@pytest.mark.parametrize("anonymous", ["true", "false"])
@pytest.mark.parametrize("program", ROUTERS, ids=[program.name for program in ROUTERS])
def test_no_right_to_manage(program: Program, tmp_path: Path, anonymous: str) -> None:
    """A real router's policy, which refuses the link, or the request: what is missing is told."""
    wanted(program)
    port = free_port()
    (tmp_path / "router.conf").write_text(_POLICY % (port, anonymous))
    with (tmp_path / "log").open("wb") as log:
        router = subprocess.Popen(
            [program.command, "-c", str(tmp_path / "router.conf")], stdout=log, stderr=log
        )
    try:
        url = f"amqp://127.0.0.1:{port}"
        wait_until(lambda: "cannot be reached" not in trace(url).stderr, 30, "the router")
        ran = trace(url)
    finally:
        router.kill()
        router.wait(10)
    assert ran.returncode == 2
    assert "does not allow management" in ran.stderr
    assert "deploy/rights/README.md has the vhost policy it needs" in ran.stderr
