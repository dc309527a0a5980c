"""`python -m deploy.lab.relay` as a process: `from relay_process import RelayProcess`."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from helpers import free_port

from deploy import control_socket


class RelayProcess:
    """A relay with a link from A to B for each target, `A--B1` to the first one."""

    def __init__(self, folder: Path, *targets: int, other: int | None = None) -> None:
        """With `other`, links can be moved to C, which listens at this port."""
        self.ports = {f"A--B{number}": free_port() for number in range(1, len(targets) + 1)}
        links = {
            link: {
                "ends": ["A", "B"],
                "dialled": "B",
                "listen": f"127.0.0.1:{port}",
                "to": f"127.0.0.1:{target}",
                "moves": {"C": f"127.0.0.1:{other}"} if other else {},
            }
            for (link, port), target in zip(self.ports.items(), targets, strict=True)
        }
        file = folder / "links.json"
        file.write_text(json.dumps({"control": "control", "links": links}))
        self.control = folder / "control"
        argv = [sys.executable, "-m", "deploy.lab.relay", str(file)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(20)

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        return control_socket.ask(self.control, command, silent_seconds=30)

    def tell(self, do: str, link: str, **fields: Any) -> None:
        assert "ok" in self.ask({"do": do, "link": link, **fields})

    def told(self, link: str) -> dict[str, Any]:
        """What it says of a link."""
        told: dict[str, Any] = self.ask({"do": "list"})["ok"][link]
        return told

    def memory_bytes(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * 4096

    def dial(self, link: str) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.ports[link]), timeout=30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock


class Target:
    """A listener; the test is the peer."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.server.settimeout(30)
        self.port = int(self.server.getsockname()[1])

    def accept(self) -> socket.socket:
        sock, _ = self.server.accept()
        sock.settimeout(30)
        return sock

    def nobody_comes(self, seconds: float) -> bool:
        self.server.settimeout(seconds)
        try:
            self.server.accept()[0].close()
        except TimeoutError:
            return True
        finally:
            self.server.settimeout(30)
        return False


def receive(sock: socket.socket, size_bytes: int) -> bytes:
    """Read exactly so much."""
    data = bytearray()
    while len(data) < size_bytes:
        piece = sock.recv(size_bytes - len(data))
        assert piece, f"the end after {len(data)} bytes"
        data += piece
    return bytes(data)


def nothing_comes(sock: socket.socket, seconds: float) -> bool:
    sock.settimeout(seconds)
    try:
        return not sock.recv(1)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(30)


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
