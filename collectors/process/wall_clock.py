"""The wall clock of this process. Labs and tests can set it wrong, and step it while the process runs.

Where the environment names a file, the nanoseconds that it holds are added: `write` sets them, and without
the file the clock is right. Such a process takes itself for one of another machine (`machine`), as two clocks
of one machine do not differ. The monotonic clock stays what it is.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from collectors.process import private_files

VARIABLE: Final = "INFLIGHT_CLOCK_FILE"
_MOST_NS: Final = 10**18  # some 30 years
_FILE_BYTES: Final = 32
_log: Final = logging.getLogger("inflight.clock")


def write(file: Path, offset_ns: int) -> None:
    """Set how far the clocks of the file's processes are ahead, from now on and in one step."""
    if abs(offset_ns) > _MOST_NS:
        raise ValueError(f"an offset is of {_MOST_NS:,} ns at most, not {offset_ns:,}")
    private_files.replace(file, b"%d\n" % offset_ns)


class _Wrong:
    """A clock that a file sets wrong. A file that says nothing of use leaves it as it was."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offset_ns = 0
        self._told: bytes | None = None
        _log.warning("this process's clock is set wrong, on purpose, by %s=%s", VARIABLE, file)

    def now_ns(self) -> int:
        # The file first: the time is then not older than what it says.
        offset_ns = self._read()
        return time.time_ns() + offset_ns

    def _read(self) -> int:
        try:
            with self._file.open("rb") as file:
                text = file.read(_FILE_BYTES)
        except FileNotFoundError:
            text = b"0"
        except OSError as error:
            text = str(error).encode()
        try:
            offset_ns = int(text)
            if abs(offset_ns) > _MOST_NS:
                raise ValueError
            self._offset_ns = offset_ns
        except ValueError:
            if text != self._told:
                self._told = text
                _log.error("%s holds no number of ns up to %d: %r", self._file, _MOST_NS, text)
        return self._offset_ns


def _chosen() -> Callable[[], int]:
    return _Wrong(Path(machine)).now_ns if machine else time.time_ns


machine: Final = os.environ.get(VARIABLE, "")  # empty: the one that it runs on
now_ns: Final = _chosen()
