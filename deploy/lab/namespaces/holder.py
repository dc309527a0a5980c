"""Holds network namespaces, as open files, for as long as it runs: they are gone with it and who is in them.

Runs as a script; its arguments are how many, and the file that it makes when they are there. It imports
the standard library alone.
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


def _make(number: int) -> None:
    """Make a namespace, of which the kernel's loopback device alone is there."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        cause = os.strerror(ctypes.get_errno())
        sys.exit(f"could not make network namespace {number}: {cause}")
    file = os.open("/proc/self/ns/net", os.O_RDONLY)
    os.dup2(file, FIRST_FILE + number, inheritable=False)
    os.close(file)


def main() -> None:
    count, ready = int(sys.argv[1]), Path(sys.argv[2])
    for number in range(count):
        _make(number)
    ready.touch()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
