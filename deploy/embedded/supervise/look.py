"""One look at the processes of this machine: which belong to one that was started, and what they take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from deploy.embedded.supervise import orphans

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Seen(NamedTuple):
    """The processes with a mark, and all that there are by the pid of who started them."""

    marked: Collection[int]
    by_parent: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, mark: str) -> Self:
        return cls(orphans.marked(mark), _by_parent())

    def session(self, leader: int) -> list[int]:
        """Return the pids in the session of a process, and of all that these have started.

        The mark is compared, too, since pids are reused. Who is below a marked one may carry none: PostgreSQL
        writes what its processes do over their environment, and gives each a session of its own.
        """
        found = dict.fromkeys(pid for pid in self.marked if _session_of(pid) == leader)
        waiting = [*found]
        while waiting:
            new = [pid for pid in self.by_parent.get(waiting.pop(), ()) if pid not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return [*found]


def memory_bytes(pids: Iterable[int]) -> int:
    """Return what processes take together, with what they share counted once."""
    found = [_of_one(pid) for pid in pids]
    return sum(own for own, _ in found) + max((shared for _, shared in found), default=0)


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _by_parent() -> dict[int, list[int]]:
    """Return all processes of the machine by the pid of who started them."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # Its name comes before the others, in brackets, and may hold anything.
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def _of_one(pid: int) -> tuple[int, int]:
    """Return what a process has for itself, and what it may share with others."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except OSError:
        return 0, 0
    return (resident - shared) * _PAGE_BYTES, shared * _PAGE_BYTES
