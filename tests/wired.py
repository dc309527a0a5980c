"""Namespaces with nothing in them yet, and programs of a few lines begun in them."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import packet_stream
from packet_stream import Came

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.namespaces.namespaces import Namespaces
from deploy.topology import load, shapes
from deploy.topology.form import Topology

PYTHON = [sys.executable, "-I", "-S"]
_PORT = 7001


def topology(shape: str, routers: int, **more: Any) -> Topology:
    return load.from_shape(shape, shapes.names(routers), **more).topology


class Wired:
    def __init__(self, supervisor: Supervisor, network: Topology) -> None:
        self.supervisor = supervisor
        self.wiring = Namespaces(supervisor)
        self.plan = self.wiring.place(network)
        self.wiring.start()

    def address(self, part: str) -> str:
        return self.wiring.layout.places[part].address

    def inside(self, part: str, argv: list[str]) -> list[str]:
        return [str(a) for a in self.wiring.argv(part, argv)]

    def run(self, part: str, *argv: str) -> str:
        done = subprocess.run(
            self.inside(part, list(argv)), capture_output=True, text=True, check=False, timeout=120
        )
        return done.stdout + done.stderr

    def tell(self, do: str, link: str = "A--B", **fields: Any) -> dict[str, Any]:
        return self.wiring.tell({"do": do, "link": link, **fields})

    def pass_packets(self, sender: str, receiver: str, *, count: int = 300, pause_ms: float = 1.0) -> Came:
        """Send packets from one part to another; return what came."""
        script = [*PYTHON, str(Path(packet_stream.__file__).resolve())]
        receive = self.inside(receiver, [*script, "receive", self.address(receiver), str(_PORT)])
        send = [*script, "send", self.address(receiver), str(_PORT), str(count), str(pause_ms)]
        return packet_stream.passed(receive, self.inside(sender, send), count)

    def dial(self, part: str, address: str, port: int = _PORT, *, within_seconds: float = 20) -> str:
        """Connect from a part; return how that went."""
        return self.run(part, *PYTHON, "-c", _DIAL, address, str(port), str(within_seconds)).strip()

    @contextmanager
    def connected(self, client: str, server: str) -> Iterator[Conversation]:
        """A TCP connection from one part to another."""
        at = [self.address(server), str(_PORT)]
        with (
            _program(self.inside(server, [*PYTHON, "-c", _LISTEN, *at])) as listening,
            _program(self.inside(client, [*PYTHON, "-c", _TALK, *at])) as dialling,
        ):
            yield Conversation(dialling, listening)


class Conversation:
    def __init__(self, client: subprocess.Popen[bytes], server: subprocess.Popen[bytes]) -> None:
        self._client, self._server = client, server

    def send(self, text: str) -> None:
        assert self._client.stdin
        os.write(self._client.stdin.fileno(), text.encode() + b"\n")

    def came(self) -> str:
        """What came at the server since the last question, the end of the connection as a word."""
        assert self._server.stdout
        file = self._server.stdout.fileno()
        readable, _, _ = select.select([file], [], [], 0)
        return os.read(file, 4096).decode().strip() if readable else ""


@contextmanager
def _program(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ready when it has written a line."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout
            assert os.read(running.stdout.fileno(), 4096) == b"ready\n"
            yield running
        finally:
            running.kill()


_DIAL = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))
    print("connected")
except OSError as error:
    print(error)
"""
_LISTEN = """
import socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
    print("ready", flush=True)
    sock, _ = server.accept()
    try:
        while got := sock.recv(65536):
            print(got.decode(), flush=True)
        print("closed", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
_TALK = """
import socket, sys
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
print("ready", flush=True)
for line in sys.stdin:
    sock.sendall(line.strip().encode())
"""
