"""The folder where one process keeps what has to outlive it."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from collectors.process.private_files import private_folder

_MOST: Final = 1_000


class EndTaken(Exception):  # noqa: N818 -- it names the end
    """Another process of this host runs an end of this name."""


class StateFolder:
    """One of the numbered folders under a root: several processes of a host may use the same config.

    A process takes the first that no living process has, and so finds what a killed one left.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder: Final = folder
        self._lock = lock
        self._claims = -1

    @classmethod
    def take(cls, root: Path) -> StateFolder:
        """Takes the first free one. Raises OSError where it cannot be made or written."""
        for number in range(_MOST):
            folder = root / str(number)
            private_folder(folder)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return cls(folder, lock)
        raise OSError(f"{root}: all of {_MOST} folders are in use")

    def claim(self, ends: Iterable[str]) -> None:
        """Reserves the names of ends on this host. Raises EndTaken for the first that another process has.

        Two at a time would look like one end that began a new run.
        """
        self._claims = os.open(self.folder.parent / "ends", os.O_RDWR | os.O_CREAT, 0o600)
        for end in ends:
            # A byte of the file stands for an end; the file itself stays empty.
            place = int.from_bytes(hashlib.blake2b(end.encode(), digest_size=7).digest(), "big")
            try:
                fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):
                raise EndTaken(end) from None

    def release(self) -> None:
        if self._claims >= 0:
            os.close(self._claims)
        os.close(self._lock)
