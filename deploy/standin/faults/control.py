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
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from deploy import control_socket
from deploy.control_socket import LINE_BYTES
from deploy.errors import Problem
from deploy.standin.faults import rules
from deploy.standin.faults.kinds import KINDS, FaultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.standin.engine.loop import Loop
    from deploy.standin.faults.rules import Rules

_TIMEOUT_SECONDS = 5.0


def send(path: Path, command: dict[str, Any]) -> dict[str, Any]:
    """Send one command to a stand-in's control socket, return its answer; raises Problem if it refuses."""
    try:
        answer = control_socket.ask(path, command, silent_seconds=_TIMEOUT_SECONDS)
    except ConnectionResetError:
        return {"ok": True}  # it has died, as told
    except (OSError, ValueError) as error:
        raise Problem(
            f"no stand-in answers at {path}: {error}; is it running with --control {path}?"
        ) from error
    if not answer.get("ok"):
        raise Problem(f"the stand-in refused the command: {answer.get('error')}")
    return answer


class Control:
    """The listening end, in the router's own loop; calls `changed` when faults may have ended."""

    def __init__(self, rules_of_router: Rules, loop: Loop, path: str, changed: Callable[[], None]) -> None:
        self._rules = rules_of_router
        self._loop = loop
        self._changed = changed
        self._verbs = {"fault": self._add, "list": self._list, "clear": self._clear, "die": self._die}
        self._path = Path(path)
        self._server = control_socket.listen(self._path)
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
                data = sock.recv(LINE_BYTES)
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
            if not data or len(waiting) > LINE_BYTES:
                self._loop.selector.unregister(sock)
                sock.close()

        self._loop.selector.register(sock, selectors.EVENT_READ, ready)

    def answer(self, line: bytes) -> dict[str, Any]:
        try:
            return {"ok": True, **self._carry_out(control_socket.read_object(line))}
        except ValueError as error:
            return {"ok": False, "error": str(error)}

    def _carry_out(self, command: dict[str, Any]) -> dict[str, Any]:
        verb = command.pop("do", "fault")
        if verb not in self._verbs:
            raise FaultError(f"do is one of {', '.join(self._verbs)}, not {verb!r}")
        return self._verbs[verb](command)

    def _add(self, command: dict[str, Any]) -> dict[str, Any]:
        fault = rules.read(command, time.monotonic_ns())
        number = self._rules.add(fault)
        if fault.until_ns is not None:
            self._loop.call_later(command["seconds"] + 0.001, self._changed)
        return {"id": number}

    def _list(self, _command: dict[str, Any]) -> dict[str, Any]:
        return {"faults": self._rules.describe()}

    def _clear(self, command: dict[str, Any]) -> dict[str, Any]:
        self._rules.clear(command.get("id"))
        self._changed()
        return {}

    @staticmethod
    def _die(_command: dict[str, Any]) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit


def _help() -> str:
    kinds = "\n".join(
        f"    {name:<11}{kind.help}" + (f" ({', '.join(kind.fields)})" if kind.fields else "")
        for name, kind in KINDS.items()
    )
    return f"""Tell a stand-in (started with --control FILE) to do something wrong, or to stop doing so.

    \b
    python -m deploy.standin.faults.control a.sock drop address=inflight/x count=5 settlement=presettled
    python -m deploy.standin.faults.control a.sock delay address=inflight/x ms=20 jitter_ms=5
    python -m deploy.standin.faults.control a.sock bandwidth address=inflight/x bytes_per_second=50000
    python -m deploy.standin.faults.control a.sock stall seconds=10
    python -m deploy.standin.faults.control a.sock clear

    \b
    Faults, with the fields that each has alone:
{kinds}

    Fields of all: address (or a prefix; default every one), count, ratio, settlement (any, presettled,
    unsettled), seconds (how long), seed. distribution is fixed, uniform or exponential.

    Messages that a link route carries wait until they are whole while a fault is in force, and duplicate
    leaves them single: their receiver has given no credit for a copy.
    """


@click.command(
    help=_help(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("socket_file", type=click.Path(path_type=Path))
@click.argument("what", type=click.Choice([*KINDS, "list", "clear", "die"]), metavar="FAULT|list|clear|die")
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
def main(socket_file: Path, what: str, fields: tuple[str, ...]) -> None:
    command: dict[str, Any] = {"kind": what} if what in KINDS else {"do": what}
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
