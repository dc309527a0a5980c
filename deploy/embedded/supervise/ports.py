"""Free TCP ports of the loopback interface."""

from __future__ import annotations

import random
import socket
import threading

LOOPBACK = "127.0.0.1"

# Below the range of outgoing connections (32768 up): else the port of a program that is down for a moment
# could be taken, even by a client that redials it and so connects to itself.
_FIRST, _LAST = 20_000, 32_000
_ATTEMPTS = 200

_handed_out: set[int] = set()
_lock = threading.Lock()


def free_port() -> int:
    """Return a port that nothing listens on, and that no earlier call in this process has returned."""
    with _lock:
        for _ in range(_ATTEMPTS):
            port = random.randint(_FIRST, _LAST)  # noqa: S311 -- spread out, not secret
            if port not in _handed_out and not _taken(port):
                _handed_out.add(port)
                return port
    raise OSError(f"no free port between {_FIRST} and {_LAST} of {LOOPBACK} in {_ATTEMPTS} attempts")


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
