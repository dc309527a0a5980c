"""Resident memory of all that a run has started, over time."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.experiment import tables


class Memory:
    """Looks when it is told to; for one thread."""

    def __init__(self, supervisor: Supervisor, file: Path) -> None:
        self._supervisor = supervisor
        self._table = tables.of_memory(file)
        self._most: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def look(self) -> None:
        now_ns = time.time_ns()
        found = self._supervisor.memory_bytes()
        self._table.add(
            {"part": name, "at_ns": now_ns, "resident_bytes": size} for name, size in found.items()
        )
        self._last |= found
        self._most |= {name: max(size, self._most.get(name, 0)) for name, size in found.items()}

    def above(self, most_bytes: int) -> str | None:
        """Return what takes more than that, with how much, or None."""
        name = max(self._last, key=lambda one: self._last[one], default=None)
        if name is None or self._last[name] <= most_bytes:
            return None
        return f"{name} takes {self._last[name]:,} bytes of memory, and {most_bytes:,} is the bound"

    def of(self, parts: Collection[str]) -> dict[str, Any]:
        """Return the figures of these parts, as a run's summary has them."""
        return {
            name: {"resident_bytes_max": most, "resident_bytes_last": self._last[name]}
            for name, most in sorted(self._most.items())
            if name in parts
        }

    def close(self) -> None:
        self._table.close()
