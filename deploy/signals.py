"""Signals end a long-running command; the handler only sets a flag."""

from __future__ import annotations

import signal
import threading
from typing import Any, Final

_USUAL: Final = (signal.SIGINT, signal.SIGTERM)


def stop_on_signals(stop: threading.Event, *numbers: signal.Signals) -> None:
    """Set `stop` at the first signal, SIGINT and SIGTERM unless said; the second ends the process at once."""

    def handle(number: int, frame: Any) -> None:  # noqa: ARG001 -- signal's signature
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()

    for number in numbers or _USUAL:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, handle)
