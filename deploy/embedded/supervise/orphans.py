"""Ends the processes of a supervisor when it is gone, even by kill -9.

Runs as a script. Its arguments are the mark that the processes carry in their environment, the seconds that
they get to end, and the state directory; its stdin is a pipe that only the supervisor holds open. It imports
the standard library alone, so that it starts in a few ms and stays small.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

MARK = "INFLIGHT_EMBEDDED"
ELSEWHERE = "elsewhere"  # in the state directory: the folders that lie outside of it, a line each
ELSEWHERE_BEGINS = "inflight-"
_LOOK_SECONDS = 0.1
# A process that is just being started has its environment only after exec: one empty look is not enough.
_EMPTY_LOOKS = 5


def marked(prefix: str) -> list[int]:
    """Return the pids of processes whose mark begins with `prefix`. A pid kept from before may be reused."""
    needle = b"\0" + os.fsencode(f"{MARK}={prefix}")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environ = (entry / "environ").read_bytes()
            except OSError:
                continue  # gone, or another user's
            if needle in b"\0" + environ:
                found.append(int(entry.name))
    return found


def end_marked(prefix: str, *, grace_seconds: float, empty_looks: int = 1) -> int:
    """Send SIGTERM, and SIGKILL after the grace; return how many processes there were."""
    seen: set[int] = set()
    asked_until = time.monotonic() + grace_seconds
    while empty_looks:
        pids = set(marked(prefix))
        if not pids:
            empty_looks -= 1
        late = time.monotonic() >= asked_until
        for pid in pids if late else pids - seen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        seen |= pids
        if empty_looks:
            time.sleep(_LOOK_SECONDS)
    return len(seen)


def remove_elsewhere(state_dir: Path) -> None:
    """Remove the folders outside of a state directory that its processes had, when they have ended."""
    noted = state_dir / ELSEWHERE
    try:
        folders = noted.read_text().splitlines()
    except FileNotFoundError:
        return
    for folder in map(Path, folders):
        if folder.name.startswith(ELSEWHERE_BEGINS) and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
    noted.unlink(missing_ok=True)


def main() -> None:
    """Wait for the end of the supervisor. After `q` on the pipe it has ended its processes itself."""
    mark, grace_seconds, state_dir = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    # The pipe tells at once. The parent's pid tells it also while a forked child holds the pipe open.
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable:
            if os.read(0, 1) == b"q":
                return
            break
    end_marked(mark, grace_seconds=grace_seconds, empty_looks=_EMPTY_LOOKS)
    remove_elsewhere(state_dir)


if __name__ == "__main__":
    main()
