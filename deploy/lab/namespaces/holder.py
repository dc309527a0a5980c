"""Holds network namespaces, as open files, for as long as it runs.

Runs as a script; its arguments are how many, the command line that ends it, and the file that it makes when
they are there. It imports the standard library alone.

A namespace goes with the last that is in it. That may be a connection of which the other side went first, and
which the kernel keeps for minutes: so what this host has of the namespaces is taken away by a command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Final

FIRST_FILE: Final = 100
_CLONE_NEWNET: Final = 0x4000_0000
_OWN: Final = "/proc/self/ns/net"
_libc: Final = ctypes.CDLL(None, use_errno=True)


def _make(number: int) -> None:
    """Make a namespace, of which the kernel's loopback device alone is there."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        sys.exit(f"could not make network namespace {number}: {os.strerror(ctypes.get_errno())}")
    file = os.open(_OWN, os.O_RDONLY)
    os.dup2(file, FIRST_FILE + number, inheritable=False)
    os.close(file)


def main() -> None:
    count, ending, ready = int(sys.argv[1]), sys.argv[2:-1], Path(sys.argv[-1])
    host = os.open(_OWN, os.O_RDONLY)
    for number in range(count):
        _make(number)
    _libc.setns(host, _CLONE_NEWNET)
    signal.signal(signal.SIGTERM, lambda *_: os.execv(ending[0], ending))  # noqa: S606 -- no shell is wanted
    ready.touch()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
