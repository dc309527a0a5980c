"""Whether somebody listens at a port of this machine, asked of the kernel: to dial would disturb who does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS: Final = "0A"
_FRESH_SECONDS: Final = 0.01  # for all links that ask at once


class Listeners:
    def __init__(self) -> None:
        self._ports: frozenset[int] = frozenset()
        self._read_at: float | None = None

    def at(self, port: int) -> bool:
        """Return whether somebody listens there; True where no kernel tells."""
        now = time.monotonic()
        if self._read_at is None or now - self._read_at > _FRESH_SECONDS:
            self._ports, self._read_at = _listening(), now
        return port in self._ports or not _TABLES[0].exists()


def _listening() -> frozenset[int]:
    found = set()
    for table in _TABLES:
        if table.exists():
            rows = (line.split(None, 4) for line in table.read_text().splitlines()[1:])
            found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENS}
    return frozenset(found)
