"""Carries out a poll over a connection."""

from __future__ import annotations

import time
from collections.abc import Callable

from collectors.router import management
from collectors.router.client import ManagementClient, Undelivered
from collectors.router.poll import Poll


def poll_once(
    client: ManagementClient, poll: Poll, deadline: float, stopped: Callable[[], bool] = lambda: False
) -> Poll:
    """Block until all is answered, or until the deadline of time.monotonic(); raises PollError."""
    while not poll.done and not stopped() and (now := time.monotonic()) < deadline:
        for tag, request in poll.take(time.monotonic_ns(), client.credit):
            client.send(tag, management.encode(request, tag, client.reply_to))
        wake_ns = poll.next_wake_ns()
        until = deadline if wake_ns is None else max(now, min(deadline, wake_ns / 1e9))
        for came in client.pump(until):
            if isinstance(came, Undelivered):
                poll.undelivered(came.tag, came.outcome, denied=came.denied, now_ns=time.monotonic_ns())
            else:
                poll.reply(came, time.monotonic_ns())
    poll.expire(time.monotonic_ns())
    return poll
