"""Runs a part as this process: until a signal comes, its time is over, or it ends by itself."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from deploy.errors import Problem
from deploy.parts.part import Part
from deploy.signals import stop_on_signals

_LOOK_SECONDS: Final = 0.5


def run_in_foreground(
    part: Part,
    stop: threading.Event | None = None,
    *,
    seconds: float | None = None,
    line: Callable[[], str] | None = None,
) -> None:
    """Start the part and stop it at the end; raises Problem where it failed.

    On a terminal `line` is written anew each second.
    """
    stop = stop or threading.Event()
    stop_on_signals(stop)
    with part:
        stop_on_signals(stop)  # again: Spark has set a handler of its own
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        next_line = time.monotonic() + 1
        while not part.ended and (left := end - time.monotonic()) > 0:
            if stop.wait(min(_LOOK_SECONDS, left)):
                break
            if line is not None and time.monotonic() >= next_line:
                next_line += 1
                _write(line())
    if part.failure is not None:
        raise Problem(part.failure)


def _write(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
