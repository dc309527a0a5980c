"""The listening end of a lab's control socket.

{"do": "kill", "part": "B"} -> {"ok": {…}} or {"problem": "…"}

While a command is carried out, an empty line a second says that it is.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from collectors.process.worker import Worker
from deploy import control_socket
from deploy.control_socket import LINE_BYTES
from deploy.embedded.supervise.process import Interrupted
from deploy.errors import Problem

Carry = Callable[[dict[str, Any]], dict[str, Any]]

_CLIENTS: Final = 32
_COMMANDS: Final = 32  # at once, those of clients that have gone included
_IDLE_SECONDS: Final = 10.0
_BEAT_SECONDS: Final = 1.0
_ROOM_SECONDS: Final = 0.01
_log: Final = logging.getLogger("inflight.keeper")


class Control:
    """Carries out each client's commands one after the other, those of several at once.

    A client that says nothing, or does not read, is dropped after a while, and soon for one that comes when
    all places are taken.
    """

    def __init__(self, path: Path, carry_out: Carry) -> None:
        self._carry_out = carry_out
        self._server = control_socket.listen(path)
        self._idle: dict[socket.socket, None] = {}  # clients between two commands, the longest there first
        self._lock = threading.Lock()
        self._places = threading.Semaphore(_CLIENTS)
        self._commands: set[Worker] = set()
        self._closed = False

    def serve(self) -> None:
        """Accept clients until `close`."""
        self._server.settimeout(_BEAT_SECONDS)
        while not self._closed:
            with contextlib.suppress(TimeoutError):
                sock, _ = self._server.accept()
                while not self._places.acquire(blocking=False):
                    self._drop_the_longest_idle()
                Worker("control client", partial(self._client, sock), again=False).start()

    def close(self) -> None:
        self._closed = True

    def _drop_the_longest_idle(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._idle:
                next(iter(self._idle)).shutdown(socket.SHUT_RDWR)
        time.sleep(_ROOM_SECONDS)

    def _client(self, sock: socket.socket) -> None:
        try:
            with sock:
                for line in self._lines(sock):
                    sock.sendall(json.dumps(self._answer(line, sock)).encode() + b"\n")
        except OSError as error:
            _log.debug("a client of the control socket is gone: %s", error)
        finally:
            with self._lock:
                self._idle.pop(sock, None)
            self._places.release()

    def _lines(self, sock: socket.socket) -> Iterator[bytes]:
        """Yield lines until the client hangs up, or is too slow with one; refuse one that is too long."""
        waiting = b""
        while True:
            with self._lock:
                self._idle[sock] = None
            deadline = time.monotonic() + _IDLE_SECONDS
            while b"\n" not in waiting:
                sock.settimeout(max(0.001, deadline - time.monotonic()))
                data = sock.recv(LINE_BYTES)
                if not data:
                    return
                waiting += data
                if len(waiting) > LINE_BYTES and b"\n" not in waiting:
                    problem = f"a command of more than {LINE_BYTES} bytes"
                    sock.sendall(json.dumps({"problem": problem}).encode() + b"\n")
                    return
            sock.settimeout(_IDLE_SECONDS)
            with self._lock:
                del self._idle[sock]
            line, _, waiting = waiting.partition(b"\n")
            yield line

    def _answer(self, line: bytes, sock: socket.socket) -> dict[str, Any]:
        try:
            command = control_socket.read_object(line)
        except ValueError as error:
            return {"problem": f"not a command: {error}"}
        answer: list[dict[str, Any]] = []
        worker = Worker("command", lambda: answer.append(self._carried_out(command)), again=False)
        with self._lock:
            self._commands = {running for running in self._commands if not running.ended.is_set()}
            if len(self._commands) >= _COMMANDS:
                return {"problem": "too much at once; ask again"}
            self._commands.add(worker)
            worker.start()
        while not worker.ended.wait(_BEAT_SECONDS):
            sock.sendall(b"\n")
        return answer[0]

    def _carried_out(self, command: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"ok": self._carry_out(command)}
        except Problem as problem:
            return {"problem": problem.message}
        except Interrupted:
            return {"problem": "the lab is ending"}
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with a command, the next one is carried out
            _log.exception("a command failed: %.200s", command)
            return {"problem": f"it failed: {type(error).__name__}: {error}"}
