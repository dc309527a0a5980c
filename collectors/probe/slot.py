"""The folder where one probe process keeps what must outlive it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

_MOST: Final = 1_000


class Slot:
    """One of several under a root: several processes may use the same config on one host.

    A process takes the first that no living process has, and so finds what a killed one left.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder: Final = folder
        self._lock = lock

    @classmethod
    def take(cls, root: Path) -> Slot:
        """OSError where the folder cannot be made or written."""
        for number in range(_MOST):
            folder = root / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return cls(folder, lock)
        raise OSError(f"{root}: all of {_MOST} folders are in use")

    def release(self) -> None:
        os.close(self._lock)
