"""Commands to a process of the same user: JSON objects, one a line, over a Unix socket."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

LINE_BYTES: Final = 65_536
_ANSWER_BYTES: Final = 1 << 20
_LONGEST_SECONDS: Final = 600.0


def listen(path: Path) -> socket.socket:
    """Take the place of any socket at `path`; only the user of this process may connect."""
    server = socket.socket(socket.AF_UNIX)
    with _short(path) as short:
        Path(short).unlink(missing_ok=True)
        os.fchmod(server.fileno(), 0o600)  # before there is a file that others could open
        server.bind(short)
    server.listen()
    return server


def connected(path: Path, silent_seconds: float | None = None) -> socket.socket:
    """Return a connection to who listens there; raises OSError where nobody does."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(silent_seconds)
        with _short(path) as short:
            sock.connect(short)
    except BaseException:
        sock.close()
        raise
    return sock


def ask(path: Path, command: Mapping[str, Any], *, silent_seconds: float) -> dict[str, Any]:
    """Send a command and return its answer. Empty lines before it say that it is still being carried out.

    Raises TimeoutError when nothing came for so long, another OSError when nobody listens or it hangs up
    without an answer, and ValueError for an answer that is none.
    """
    with connected(path, silent_seconds) as sock:
        sock.sendall(json.dumps(command).encode() + b"\n")
        return read_object(_answer(sock))


def read_object(line: bytes) -> dict[str, Any]:
    """Return the object in a line; raises ValueError for anything else."""
    try:
        found = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("a command is a JSON object")  # noqa: TRY004 -- bad data, not a bad call
    return found


def _answer(sock: socket.socket) -> bytes:
    deadline = time.monotonic() + _LONGEST_SECONDS
    waiting = b""
    while True:
        data = sock.recv(LINE_BYTES)
        if not data:
            raise ConnectionResetError("it hung up without an answer")
        waiting = (waiting + data).lstrip(b"\n")
        line, ended, _ = waiting.partition(b"\n")
        if ended:
            return line
        if len(waiting) > _ANSWER_BYTES:
            raise ValueError(f"an answer of more than {_ANSWER_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError(f"no answer within {_LONGEST_SECONDS:g} s")


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of the path that a socket can have, which is of 107 bytes at the most."""
    folder = os.open(path.absolute().parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
