"""Ports are handed out once, whoever asks."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.embedded.supervise import ports

_TAKE = """
import sys
from deploy.embedded.supervise import ports
ports._FIRST, ports._LAST = map(int, sys.argv[1:3])
print(*(ports.free_port() for _ in range(int(sys.argv[3]))), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Twenty ports, which no other test asks for at the moment."""
    first = next(port for port in range(19_000, 19_980, 20) if all(map(_free, range(port, port + 20))))
    monkeypatch.setattr(ports, "_FIRST", first)
    monkeypatch.setattr(ports, "_LAST", first + 19)
    monkeypatch.setattr(ports, "_ATTEMPTS", 2_000)
    monkeypatch.setattr(ports, "_handed_out", set())
    return first, first + 19


def _free(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


def _rest() -> set[int]:
    """Return all ports that are still to be had."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        while len(found) < 1_000:
            found.add(ports.free_port())
    return found


def test_two_processes_never_have_the_same_port(few: tuple[int, int]) -> None:
    """Though nothing listens there; they are free again when the other process has ended, even by kill -9."""
    command = [sys.executable, "-c", _TAKE, *map(str, few), "12"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as other:
        assert other.stdout is not None
        others = set(map(int, other.stdout.readline().split()))
        mine = _rest()
        other.kill()
    assert (len(others), len(mine), others & mine) == (12, 8, set())
    assert _rest() == others


def test_a_port_on_which_something_listens_is_not_handed_out(few: tuple[int, int]) -> None:
    with socket.create_server(("127.0.0.1", few[0] + 3)):
        assert _rest() == {*range(few[0], few[1] + 1)} - {few[0] + 3}


def test_without_a_place_to_reserve_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are handed out all the same."""
    monkeypatch.setattr(ports, "_reservations", lambda: None)
    assert len(_rest()) == 20
