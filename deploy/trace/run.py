"""A trace over one connection, until it is over, is stopped, or the connection is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from collectors.polling.errors import PollError
from collectors.router import management
from collectors.router.client import ManagementClient, Undelivered
from collectors.router.management import Request
from deploy.trace.tracer import Trace

_LOOK_NS: Final = 100_000_000  # how long a stop may go unseen
_SHOW_NS: Final = 250_000_000
_IDLE_NS: Final = 5_000_000  # where a request is due, but there is no credit for it


def run(
    client: ManagementClient, trace: Trace, stop: threading.Event, show: Callable[[int], None]
) -> str | None:
    """Block until the trace's end. Returns the reason where the connection was lost; `show` gets the time."""
    shown_ns = 0
    try:
        while not stop.is_set() and not trace.over(now_ns := time.monotonic_ns()):
            taken = trace.take(now_ns, client.credit)
            if taken is not None:
                _send(client, *taken)
            pause_ns = min(_LOOK_NS, max(_IDLE_NS, trace.next_wake_ns(now_ns) - now_ns))
            for came in client.pump((now_ns + pause_ns) / 1e9):
                if isinstance(came, Undelivered):
                    trace.undelivered(came.tag, came.outcome, denied=came.denied)
                else:
                    trace.reply(came, time.monotonic_ns())
            if now_ns - shown_ns >= _SHOW_NS:
                shown_ns = now_ns
                show(now_ns)
    except PollError as error:
        return str(error)
    return None


def _send(client: ManagementClient, tag: str, request: Request) -> None:
    client.send(tag, management.encode(request, tag, client.reply_to))
