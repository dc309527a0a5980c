"""Free TCP ports of the loopback interface.

A port is this process's own until it ends, also while nothing listens there: the byte of that number is
locked in a file that all processes of the user share. Else a network that starts meanwhile could take the
port of a program that is down for a moment, or is just being started.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import tempfile
import threading
from functools import cache
from pathlib import Path

LOOPBACK = "127.0.0.1"

# Below the range of outgoing connections (32768 up): else the port of a program that is down for a moment
# could be taken, even by a client that redials it and so connects to itself.
_FIRST, _LAST = 20_000, 32_000
_ATTEMPTS = 200

_handed_out: set[int] = set()
_lock = threading.Lock()


def free_port() -> int:
    """Return a port that nothing listens on, and that no process which is still there was given."""
    with _lock:
        for _ in range(_ATTEMPTS):
            port = random.randint(_FIRST, _LAST)  # noqa: S311 -- spread out, not secret
            if port not in _handed_out and _reserved(port) and not _taken(port):
                _handed_out.add(port)
                return port
    raise OSError(f"no free port between {_FIRST} and {_LAST} of {LOOPBACK} in {_ATTEMPTS} attempts")


def _reserved(port: int) -> bool:
    """Whether the port is this process's own from now on; always where there can be no such file."""
    file = _reservations()
    if file is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _reservations() -> int | None:
    path = Path(tempfile.gettempdir()) / f"inflight-ports-{os.getuid()}"
    with contextlib.suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def accepts(port: int, host: str = LOOPBACK) -> bool:
    """Whether something listens on the port."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
