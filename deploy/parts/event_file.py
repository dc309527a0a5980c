"""Reads the file of events as it grows, for `inflight run`, which has no Kafka to read them from."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from collectors.contract import events
from collectors.contract.events import Event
from collectors.process.worker import Worker

_LOOK_SECONDS: Final = 0.3
_CHUNK_BYTES: Final = 65_536
_LINE_BYTES: Final = 1 << 20  # as long as a record of Kafka may be
_PAST_BYTES: Final = 4 << 20  # what is read of a file that is there already
_log: Final = logging.getLogger("inflight.run")


class EventFile:
    """Follows a file that others append to, also when it is cut short, replaced, or made only later.

    Each event goes to `take`; `refused` is called for each line that is none.
    """

    def __init__(self, file: Path, take: Callable[[Event], None], refused: Callable[[], None]) -> None:
        self._path, self._take, self._refused = file, take, refused
        self._file: IO[bytes] | None = None
        self._waiting = b""
        self._skipping = False  # the rest of a line that is too long, or whose begin was not read
        self._stop = threading.Event()
        self._worker = Worker("events", self._follow)

    def start(self) -> None:
        self._worker.start()

    def close(self) -> None:
        self._stop.set()
        self._worker.join()
        self._let_go()

    def not_ready(self) -> str | None:
        """Return why the file is not read, or None."""
        return self._worker.problem

    def _follow(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            self.read()

    def read(self) -> None:
        """Take what is new since the last time."""
        if self._file is None and not self._open(_PAST_BYTES):
            return
        self._read_on()
        if self._changed():
            self._let_go()
            if self._open(None):
                self._read_on()

    def _open(self, at_most_bytes: int | None) -> bool:
        try:
            # One that is no file of bytes, like a pipe, must not keep this waiting.
            self._file = os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        except FileNotFoundError:
            return False
        size = os.fstat(self._file.fileno()).st_size
        if at_most_bytes is not None and size > at_most_bytes:
            self._file.seek(size - at_most_bytes)
            self._skipping = True
        return True

    def _read_on(self) -> None:
        while self._file is not None and not self._stop.is_set():
            data = self._file.read(_CHUNK_BYTES)
            if not data:
                return
            *lines, rest = (self._waiting + data).split(b"\n")
            for line in lines:
                self._line(line)
            self._waiting = rest
            if len(rest) > _LINE_BYTES:
                if not self._skipping:
                    self._refuse(f"longer than {_LINE_BYTES} bytes")
                self._waiting, self._skipping = b"", True

    def _line(self, line: bytes) -> None:
        if self._skipping:
            self._skipping = False
        elif line.strip():
            try:
                event = events.decode(line)
            except ValueError as error:
                self._refuse(str(error))
            else:
                self._take(event)

    def _refuse(self, why: str) -> None:
        self._refused()
        _log.warning("a line of %s is no event: %.300s", self._path, why)

    def _changed(self) -> bool:
        """Return whether the name leads to another file now, or the file is shorter than what was read."""
        if self._file is None:
            return False
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return True
        here = os.fstat(self._file.fileno())
        return (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino) or here.st_size < self._file.tell()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._waiting, self._skipping = b"", False
