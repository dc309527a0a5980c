"""The control socket against clients that hang, send rubbish, or come in masses."""

from __future__ import annotations

import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers import wait_until

from collectors.process.worker import Worker
from deploy import control_socket
from deploy.errors import Problem
from deploy.lab import control
from deploy.lab.control import Control

_SECONDS = 30


class Told:
    """What a lab was told; `wait` takes until `go_on`."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []
        self.go_on = threading.Event()

    def has(self, count: int) -> bool:
        return len(self.commands) >= count

    def carry_out(self, command: dict[str, Any]) -> dict[str, Any]:
        self.commands.append(command)
        match command.get("do"):
            case "wait":
                self.go_on.wait(60)
            case "refuse":
                raise Problem("not that")
            case "fail":
                raise KeyError("a mistake of ours")
        return {"did": command.get("do")}


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """A lab that listens at `control`."""
    made = Told()
    listening = Control(tmp_path / "control", made.carry_out)
    worker = Worker("control", listening.serve)
    worker.start()
    yield made
    made.go_on.set()
    listening.close()
    assert worker.join(_SECONDS)
    assert worker.problem is None


@pytest.fixture
def path(told: Told, tmp_path: Path) -> Path:  # noqa: ARG001 -- it listens there
    return tmp_path / "control"


def connected(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(_SECONDS)
    sock.connect(str(path))
    return sock


def ask(path: Path, do: str) -> dict[str, Any]:
    return control_socket.ask(path, {"do": do}, silent_seconds=_SECONDS)


def test_each_line_is_answered(path: Path, told: Told) -> None:
    """Several on one connection, in their order, and what is wrong with one ends nothing."""
    nested = b"[" * 60_000
    rubbish = [b"rubbish", b"[1]", b"", nested, b"\xff\xfe", b'{"do": "refuse"}']
    lines = [b'{"do": "a"}', *rubbish, b'{"do": "b"}']
    with connected(path) as sock, sock.makefile("rb") as answers:
        for line in lines:
            sock.sendall(line + b"\n")
        got = [json.loads(answers.readline()) for _ in lines]
    assert [[*answer] for answer in got] == [["ok"], *[["problem"]] * 6, ["ok"]]
    assert got[0] == {"ok": {"did": "a"}}
    assert got[6] == {"problem": "not that"}
    assert [command["do"] for command in told.commands] == ["a", "refuse", "b"]


def test_a_mistake_of_ours_is_told_and_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert ask(path, "fail") == {"problem": "it failed: KeyError: 'a mistake of ours'"}
    assert "a command failed" in caplog.text
    assert ask(path, "next") == {"ok": {"did": "next"}}


def test_a_line_without_end_is_refused(path: Path) -> None:
    with connected(path) as sock, sock.makefile("rb") as answers:
        sock.sendall(b"x" * 65_537)
        assert json.loads(answers.readline()) == {"problem": "a command of more than 65536 bytes"}
    assert ask(path, "next") == {"ok": {"did": "next"}}


def test_clients_in_masses_do_not_keep_others_out(path: Path) -> None:
    """Three times as many as there are places, silent or in the middle of a line: the oldest give way."""
    silent = [connected(path) for _ in range(96)]
    for sock in silent[-10:]:
        sock.sendall(b'{"do": ')
    assert ask(path, "status") == {"ok": {"did": "status"}}
    for sock in silent:
        sock.close()
    assert ask(path, "status") == {"ok": {"did": "status"}}


def test_a_client_that_is_slow_is_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that sends a byte now and then: it is the whole line that has a time."""
    monkeypatch.setattr(control, "_IDLE_SECONDS", 1.0)
    began = time.monotonic()
    with connected(path) as sock, pytest.raises(OSError):  # noqa: PT011, PT012 -- broken pipe or reset
        while time.monotonic() < began + 60:
            sock.sendall(b"{")
            time.sleep(0.1)
    assert ask(path, "next") == {"ok": {"did": "next"}}


def test_a_long_command_blocks_nobody(path: Path, told: Told) -> None:
    """Meanwhile an empty line a second says that it goes on, and others are answered."""
    with connected(path) as sock, sock.makefile("rb") as answers:
        sock.sendall(b'{"do": "wait"}\n')
        assert answers.readline() == b"\n"
        assert ask(path, "status") == {"ok": {"did": "status"}}
        told.go_on.set()
        line = next(line for line in answers if line != b"\n")
        assert json.loads(line) == {"ok": {"did": "wait"}}


def test_a_command_goes_on_without_its_client(path: Path, told: Told) -> None:
    """And no more than 32 at once, whoever has gone."""
    for number in range(32):
        with connected(path) as sock:
            sock.sendall(b'{"do": "wait"}\n')
            wait_until(partial(told.has, number + 1), _SECONDS, "the command")
    assert ask(path, "status") == {"problem": "too much at once; ask again"}
    told.go_on.set()
    wait_until(lambda: ask(path, "status") == {"ok": {"did": "status"}}, _SECONDS, "room for a command")


def test_only_the_user_may_connect_wherever_it_is(tmp_path: Path) -> None:
    """In a folder whose name is longer than a socket's may be, and in the place of an older socket."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    for _ in range(2):
        server = control_socket.listen(deep / "control")
        assert stat.S_IMODE((deep / "control").stat().st_mode) == 0o600
        server.close()
