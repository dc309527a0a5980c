"""SIGINT and SIGTERM end a long-running command; the handler only sets a flag."""

from __future__ import annotations

import signal
import threading
from typing import Any


def stop_on_signals(stop: threading.Event) -> None:
    """Set `stop` at the first signal; the second one ends the process at once."""

    def handle(number: int, frame: Any) -> None:  # noqa: ARG001 -- signal's signature
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
