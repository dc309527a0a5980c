"""Faults on command, as JSON lines over a unix socket: `python -m deploy.standin.faults.control` sends them.

{"kind": "drop", "address": "inflight/x", "count": 5}     -> {"ok": true, "id": 1}
{"do": "list"}                                            -> {"ok": true, "faults": {"1": {...}}}
{"do": "clear", "id": 1} or {"do": "clear"}               -> {"ok": true}
{"do": "die"}                                             -> the process is gone at once
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deploy.errors import Problem
from deploy.standin.faults import rules as faults

if TYPE_CHECKING:
    from deploy.standin.engine.loop import Loop
    from deploy.standin.routing.router import Router

_LINE_BYTES = 65_536
_TIMEOUT_SECONDS = 5.0


def send(path: Path | str, command: dict[str, Any]) -> dict[str, Any]:
    """Send one command to a stand-in's control socket and return its answer; Problem if it refuses."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(_TIMEOUT_SECONDS)
            sock.connect(str(path))
            sock.sendall(json.dumps(command).encode() + b"\n")
            line = sock.makefile("rb").readline(_LINE_BYTES)
    except OSError as error:
        raise Problem(
            f"no stand-in answers at {path}: {error}; is it running with --control {path}?"
        ) from error
    if not line:
        return {"ok": True}  # it has died, as told
    answer: dict[str, Any] = json.loads(line)
    if not answer.get("ok"):
        raise Problem(f"the stand-in refused the command: {answer.get('error')}")
    return answer


class Control:
    """The listening end, in the router's own loop."""

    def __init__(self, router: Router, loop: Loop, path: str) -> None:
        self._router = router
        self._loop = loop
        self._path = Path(path)
        self._path.unlink(missing_ok=True)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(path)
        self._path.chmod(0o600)
        self._server.listen()
        self._server.setblocking(False)
        loop.selector.register(self._server, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        self._server.close()
        self._path.unlink(missing_ok=True)

    def _accept(self, _events: int) -> None:
        sock = self._server.accept()[0]
        sock.setblocking(False)
        waiting = bytearray()

        def ready(_events: int) -> None:
            try:
                data = sock.recv(_LINE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            waiting.extend(data)
            *lines, rest = bytes(waiting).split(b"\n")
            waiting[:] = rest
            try:
                for line in lines:
                    sock.send(json.dumps(self.answer(line)).encode() + b"\n")
            except OSError:
                data = b""
            if not data or len(waiting) > _LINE_BYTES:
                self._loop.selector.unregister(sock)
                sock.close()

        self._loop.selector.register(sock, selectors.EVENT_READ, ready)

    def answer(self, line: bytes) -> dict[str, Any]:
        try:
            command = json.loads(line)
            if not isinstance(command, dict):
                raise faults.FaultError("a command is a JSON object")
            return {"ok": True, **self._do(command)}
        except ValueError as error:
            return {"ok": False, "error": str(error)}

    def _do(self, command: dict[str, Any]) -> dict[str, Any]:
        rules = self._router.faults.rules
        what = command.pop("do", "fault")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "list":
            return {"faults": {str(number): fault.describe() for number, fault in rules.items()}}
        if what == "clear":
            for number in [command["id"]] if "id" in command else list(rules):
                rules.pop(number, None)
            self._router.wake_all()
            return {}
        if what != "fault":
            raise faults.FaultError(f"do is one of fault, list, clear, die, not {what!r}")
        fault = faults.read(command, time.monotonic_ns())
        number = self._router.faults.add(fault)
        if fault.until_ns is not None:
            self._loop.call_later(command["seconds"] + 0.001, self._router.wake_all)
        return {"id": number}


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("socket_file")
@click.argument("what", type=click.Choice([*faults.KINDS, "list", "clear", "die"]))
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
def main(socket_file: str, what: str, fields: tuple[str, ...]) -> None:
    r"""Tell a stand-in (started with --control FILE) to do something wrong, or to stop doing so.

    \b
    python -m deploy.standin.faults.control a.sock drop address=inflight/x count=5 settlement=presettled
    python -m deploy.standin.faults.control a.sock delay address=inflight/x ms=20 jitter_ms=5
    python -m deploy.standin.faults.control a.sock stall seconds=10
    python -m deploy.standin.faults.control a.sock clear

    Fields: address (or a prefix; default every one), count, ratio, settlement (any, presettled, unsettled),
    seconds (how long), seed; of delay: ms, jitter_ms, distribution (fixed, uniform, exponential), reorder.
    """
    command: dict[str, Any] = {"kind": what} if what in faults.KINDS else {"do": what}
    for field in fields:
        name, found, value = field.partition("=")
        if not found:
            raise Problem(f"{field!r} is not FIELD=VALUE")
        try:
            command[name] = json.loads(value)
        except ValueError:
            command[name] = value
    sys.stdout.write(json.dumps(send(socket_file, command)) + "\n")


if __name__ == "__main__":
    main()
