"""The processes of a job that runs in this one's session of Spark: its JVM, and Python's workers below it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def resident() -> dict[str, int]:
    """Return the memory in bytes of the JVM and of the workers."""
    return _sums(_resident_bytes)


def cpu_seconds() -> dict[str, float]:
    """Return the CPU seconds so far of the JVM and of the workers."""
    return {name: ticks / os.sysconf("SC_CLK_TCK") for name, ticks in _sums(_ticks).items()}


def _sums(of: Callable[[int], int]) -> dict[str, int]:
    stats = {int(place.parent.name): _stat(place) for place in Path("/proc").glob("[0-9]*/stat")}
    parents = {pid: int(fields[1]) for pid, (_, fields) in stats.items() if fields}
    java = [pid for pid, (name, _) in stats.items() if name == "java" and parents.get(pid) == os.getpid()]
    below = list(java)
    for pid in below:
        below += [child for child, parent in parents.items() if parent == pid]
    return {"java": sum(map(of, java)), "python": sum(of(pid) for pid in below if pid not in java)}


def _stat(place: Path) -> tuple[str, list[str]]:
    try:
        text = place.read_text()
    except OSError:
        return "", []  # it has ended
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()


def _resident_bytes(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _ticks(pid: int) -> int:
    _, fields = _stat(Path(f"/proc/{pid}/stat"))
    return int(fields[11]) + int(fields[12]) if fields else 0
