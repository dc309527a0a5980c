"""A network that can fail: `from relay import Relay`."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Relay:
    """A context manager that passes on what comes to `port`, both ways, until told otherwise."""

    def __init__(self, target_port: int = 0) -> None:
        """With port 0 connections are accepted, and nothing is passed on."""
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._target_port = target_port
        self._flowing = threading.Event()
        self._flowing.set()
        self._seconds_a_piece = 0.0
        self.sockets: list[socket.socket] = []  # of both sides
        self._lost: set[socket.socket] = set()
        threading.Thread(target=self._take, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flowing.set()
        for sock in (self._server, *self.sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def hold(self) -> None:
        """Let connections and bytes wait, as if the server were stopped."""
        self._flowing.clear()

    def go_on(self) -> None:
        self._flowing.set()

    def lose(self) -> None:
        """Pass nothing on over the connections that there are, without telling either side."""
        self._lost.update(self.sockets)

    def slow(self, seconds_a_piece: float) -> None:
        """Let each kB take so many seconds."""
        self._seconds_a_piece = seconds_a_piece

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self.sockets.append(client)
                if self._target_port:
                    server = socket.create_connection(("127.0.0.1", self._target_port))
                    self.sockets.append(server)
                    for pair in ((client, server), (server, client)):
                        threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._flowing.wait()
                data = source.recv(1_024 if self._seconds_a_piece else 65_536)
                self._flowing.wait()
                if source in self._lost:
                    continue
                if self._seconds_a_piece:
                    threading.Event().wait(self._seconds_a_piece)
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
