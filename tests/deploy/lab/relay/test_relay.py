"""The relay as a process, with a test at each end of its links."""

from __future__ import annotations

import contextlib
import random
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import wait_until
from relay_process import RelayProcess, Target, nothing_comes, receive, reset

_LINK = "A--B1"
_MB = 1_000_000


class Rig:
    """A relay with one link to a target, and another target to move it to."""

    def __init__(self, folder: Path) -> None:
        self.target, self.other = Target(), Target()
        self.relay = RelayProcess(folder, self.target.port, other=self.other.port)
        self._open: list[socket.socket] = []

    def connection(self) -> tuple[socket.socket, socket.socket]:
        """A connection over the link: who dialled, and who was dialled."""
        client = self.dial()
        server = self.target.accept()
        self._open.append(server)
        return client, server

    def dial(self) -> socket.socket:
        self._open.append(self.relay.dial(_LINK))
        return self._open[-1]

    def clear(self) -> None:
        for sock in self._open:
            sock.close()
        self._open.clear()
        self.relay.tell("clear", _LINK)
        wait_until(lambda: self.relay.told(_LINK)["connections"] == 0, 30, "the end of all connections")

    def tell(self, do: str, **fields: object) -> None:
        self.relay.tell(do, _LINK, **fields)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    made = Rig(tmp_path_factory.mktemp("relay"))
    yield made
    assert made.relay.stop() == 0


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    """One relay for all tests, each of which finds it without connections and faults."""
    yield shared
    shared.clear()


def _passes(client: socket.socket, server: socket.socket) -> bool:
    client.sendall(b"there")
    assert receive(server, 5) == b"there"
    server.sendall(b"back")
    return receive(client, 4) == b"back"


def _is_reset(sock: socket.socket) -> bool:
    sock.settimeout(30)
    try:
        sock.recv(1)
    except ConnectionResetError:
        return True
    return False


def test_bytes_pass_both_ways_unchanged(rig: Rig) -> None:
    client, server = rig.connection()
    data = random.Random(1).randbytes(3 * _MB)  # noqa: S311 -- no secret
    client.setblocking(False)
    sent, got = 0, bytearray()
    while len(got) < len(data):
        if sent < len(data):
            with contextlib.suppress(BlockingIOError):
                sent += client.send(data[sent : sent + 100_000])
        server.settimeout(0.001)
        with contextlib.suppress(TimeoutError):
            got += server.recv(300_000)
    assert bytes(got) == data
    client.settimeout(30)
    server.settimeout(30)
    assert _passes(client, server)


def test_a_half_closed_connection_is_passed_on(rig: Rig) -> None:
    """Who says that no more comes can still be answered."""
    client, server = rig.connection()
    client.sendall(b"last")
    client.shutdown(socket.SHUT_WR)
    assert receive(server, 4) == b"last"
    assert server.recv(1) == b""
    server.sendall(b"answer")
    assert receive(client, 6) == b"answer"
    server.close()
    assert client.recv(1) == b""
    wait_until(lambda: rig.relay.told(_LINK)["connections"] == 0, 30, "the end of the connection")


@pytest.mark.parametrize("who", ["client", "server"])
def test_a_reset_is_passed_on_as_a_reset(rig: Rig, who: str) -> None:
    client, server = rig.connection()
    assert _passes(client, server)
    ending, other = (client, server) if who == "client" else (server, client)
    reset(ending)
    assert _is_reset(other)


def test_a_part_that_is_down_refuses_as_without_a_relay(tmp_path: Path) -> None:
    """Before its start and after its end: for who takes a connection and resets it Artemis waits a minute."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
    relay = RelayProcess(tmp_path, place[1])
    try:
        for _ in range(2):
            assert _refuses(relay)
            with socket.create_server(place) as server:
                wait_until(lambda: not _refuses(relay), 30, "the link to be open")
                server.accept()[0].close()
                client = relay.dial(_LINK)
                there, _ = server.accept()
            reset(there)
            assert _is_reset(client)
            wait_until(lambda: _refuses(relay), 30, "the link to refuse")
    finally:
        assert relay.stop() == 0


def _refuses(relay: RelayProcess) -> bool:
    try:
        relay.dial(_LINK).close()
    except ConnectionRefusedError:
        return True
    return False


def test_delay_is_in_each_direction_and_keeps_the_order(rig: Rig) -> None:
    rig.tell("delay", ms=100, jitter_ms=90)
    client, server = rig.connection()
    began = time.monotonic()
    for number in range(50):
        client.sendall(number.to_bytes(4, "big") * 10)
        time.sleep(0.002)
    expected = b"".join(number.to_bytes(4, "big") * 10 for number in range(50))
    assert receive(server, len(expected)) == expected
    rig.tell("delay", ms=100)
    began = time.monotonic()
    assert _passes(client, server)
    assert time.monotonic() - began >= 0.2


def test_a_delay_of_one_direction_leaves_the_other_alone(rig: Rig) -> None:
    rig.tell("delay", ms=10_000, direction="B>A")
    client, server = rig.connection()
    client.sendall(b"there")
    assert receive(server, 5) == b"there"
    server.sendall(b"back")
    assert nothing_comes(client, 0.3)
    rig.tell("clear")
    assert receive(client, 4) == b"back"


def test_the_end_of_a_connection_is_delayed_behind_its_bytes(rig: Rig) -> None:
    rig.tell("delay", ms=100)
    client, server = rig.connection()
    client.sendall(b"last")
    client.close()
    assert receive(server, 4) == b"last"
    assert server.recv(1) == b""


def test_a_limit_is_of_all_connections_of_the_link_together(rig: Rig) -> None:
    """Neither has to wait for the other to be done."""
    rig.tell("limit", bytes_per_second=100_000)
    pairs = [rig.connection(), rig.connection()]
    began = time.monotonic()
    for client, _ in pairs:
        client.sendall(bytes(25_000))
    got = [0, 0]
    when_one_was_done = []
    while sum(got) < 50_000:
        for number, (_, server) in enumerate(pairs):
            server.settimeout(0.005)
            with contextlib.suppress(TimeoutError):
                got[number] += len(server.recv(65_536))
        if max(got) == 25_000:
            when_one_was_done.append(min(got))
    # What 20 ms of late timers are made up for may come earlier.
    assert time.monotonic() - began >= 0.45
    assert when_one_was_done[0] > 12_500


def test_a_stalled_link_is_a_black_hole_and_goes_on_where_it_was(rig: Rig) -> None:
    client, server = rig.connection()
    assert _passes(client, server)
    rig.tell("stall")
    client.sendall(b"held")
    server.sendall(b"back")
    assert nothing_comes(server, 0.3)
    assert nothing_comes(client, 0.1)
    new = rig.dial()
    new.sendall(b"new")
    assert rig.target.nobody_comes(0.3)
    client.sendall(b" on")
    rig.tell("clear")
    assert receive(server, 7) == b"held on"
    assert receive(client, 4) == b"back"
    assert receive(rig.target.accept(), 3) == b"new"


def test_an_end_during_a_stall_is_passed_on_after_it(rig: Rig) -> None:
    client, server = rig.connection()
    rig.tell("stall", direction="A>B")
    client.sendall(b"last")
    client.shutdown(socket.SHUT_WR)
    server.sendall(b"the other way")
    assert receive(client, 13) == b"the other way"
    assert nothing_comes(server, 0.2)
    rig.tell("clear")
    assert receive(server, 4) == b"last"
    assert server.recv(1) == b""


def test_a_cut_resets_what_there_is_and_refuses_what_comes(rig: Rig) -> None:
    client, server = rig.connection()
    rig.tell("stall")
    rig.tell("cut")  # of a stalled link, too
    assert _is_reset(client)
    assert _is_reset(server)
    assert _refuses(rig.relay)
    rig.tell("clear")
    assert _passes(*rig.connection())


def test_a_moved_link_leads_to_another_place_until_it_is_cleared(rig: Rig) -> None:
    client, server = rig.connection()
    rig.tell("move", to="C")
    assert _is_reset(client)
    assert _is_reset(server)
    client = rig.dial()
    there = rig.other.accept()
    assert _passes(client, there)
    rig.tell("clear")
    assert _is_reset(client)
    assert _is_reset(there)
    assert _passes(*rig.connection())


def test_what_is_done_at_once_adds_up_and_a_repeat_replaces(rig: Rig) -> None:
    rig.tell("delay", ms=50)
    rig.tell("limit", bytes_per_second=1_000_000, direction="A>B")
    rig.tell("delay", ms=60)
    assert rig.relay.told(_LINK)["faults"] == [
        {"do": "delay", "ms": 60},
        {"do": "limit", "bytes_per_second": 1_000_000, "direction": "A>B"},
    ]
    began = time.monotonic()
    assert _passes(*rig.connection())
    assert time.monotonic() - began >= 0.12


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"do": "delay", "link": _LINK}, "`delay` needs `ms`"),
        ({"do": "move", "link": _LINK, "to": "D"}, "move: to is one of C, not 'D'"),
        ({"do": "loss", "link": _LINK}, "'loss' is none of delay, limit, stall, cut, move, clear"),
        (
            {"do": "clear", "link": _LINK, "fault": "no"},
            "clear: fault is one of delay, limit, stall, cut, move, not 'no'",
        ),
        ({"do": "cut", "link": "A--C"}, "there is no link 'A--C'"),
        ({"do": "cut"}, "there is no link None"),
    ],
)
def test_a_wrong_command_changes_nothing_and_is_told(
    rig: Rig, command: dict[str, object], problem: str
) -> None:
    assert rig.relay.ask(command) == {"problem": problem}
    assert rig.relay.told(_LINK)["faults"] == []


@pytest.mark.parametrize("garbage", [b"\xff\xfe\n", b"[" * 50_000 + b"\n", b"7\n", b"x" * 200_000])
def test_garbage_on_the_control_socket_ends_nothing(rig: Rig, garbage: bytes) -> None:
    client, server = rig.connection()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(str(rig.relay.control))
        try:
            sock.sendall(garbage)
            assert b"problem" in sock.recv(1_000) or len(garbage) > 65_536
        except (BrokenPipeError, ConnectionResetError):
            assert len(garbage) > 65_536
    assert _passes(client, server)


def test_who_does_not_read_fills_no_memory(rig: Rig) -> None:
    """Neither at full speed nor under delay; the sender is held back, and nothing is lost."""
    rig.tell("delay", ms=10_000)
    before_bytes = rig.relay.memory_bytes()
    pairs = [rig.connection() for _ in range(4)]
    sent = [_fill(client) for client, _ in pairs]
    assert rig.relay.memory_bytes() - before_bytes < 4 * 6 * _MB
    rig.tell("clear")
    for number, (client, _) in enumerate(pairs):
        sent[number] += _fill(client)
    assert rig.relay.memory_bytes() - before_bytes < 4 * 6 * _MB
    for (client, server), size_bytes in zip(pairs, sent, strict=True):
        client.settimeout(30)
        client.shutdown(socket.SHUT_WR)
        assert sum(len(piece) for piece in iter(lambda s=server: s.recv(1 << 20), b"")) == size_bytes


def _fill(sock: socket.socket) -> int:
    """Send until nothing more is taken for a while; returns how many bytes went."""
    sock.settimeout(0.2)
    sent, piece = 0, bytes(65_536)
    while sent < 100 * _MB:
        try:
            sent += sock.send(piece)
        except TimeoutError:
            break
    assert sent < 100 * _MB
    return sent


def test_a_thousand_connections_at_once(rig: Rig) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pairs = [rig.connection() for _ in range(1_000)]
    assert rig.relay.told(_LINK)["connections"] == 1_000
    for client, _ in pairs:
        client.sendall(b"there")
    assert all(receive(server, 5) == b"there" for _, server in pairs)
    rig.tell("cut")
    assert all(_is_reset(client) for client, _ in pairs)


@pytest.mark.slow
def test_a_relay_without_free_files_goes_on_when_there_are_some(tmp_path: Path) -> None:
    """Who comes meanwhile waits, or is reset where one file was free; connections that there are go on."""
    target = Target()
    relay = RelayProcess(tmp_path, target.port)
    try:
        used = len(list(Path(f"/proc/{relay.process.pid}/fd").iterdir()))
        resource.prlimit(relay.process.pid, resource.RLIMIT_NOFILE, (used + 5, used + 5))
        first = [(relay.dial(_LINK), target.accept()) for _ in range(2)]
        assert _is_reset(relay.dial(_LINK))
        resource.prlimit(relay.process.pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
        waiting = relay.dial(_LINK)
        waiting.sendall(b"late")
        assert all(_passes(*pair) for pair in first)
        for sock in first[0]:
            sock.close()
        server = target.accept()
        assert receive(server, 4) == b"late"
        assert _passes(waiting, server)
    finally:
        relay.stop()


def test_a_file_that_says_nothing_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "links.json").write_text("[]")
    argv = [sys.executable, "-m", "deploy.lab.relay", str(tmp_path / "links.json")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not what `python -m deploy.lab.relay --help` says" in done.stderr
    assert "Traceback" not in done.stderr
