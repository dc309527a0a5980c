"""What `demo --fault` does: it kills the router in the middle, and starts it again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from collectors.config.model import Kafka
from collectors.contract import events, topics
from collectors.kafka.client import put
from deploy.demo.stack import Stack
from deploy.lab.lab import PREFIX

_VICTIM = "B"
_CALM_SECONDS = 12.0
_DOWN_SECONDS = 8.0


def kill_and_restart(
    stack: Stack, has_results: threading.Event, stopping: threading.Event, tell: Callable[[str], None]
) -> None:
    """Kill the router some time after the first results, and start it again.

    Each step is told, and recorded as an event. Returns early when `stopping` is set.
    """
    router = stack.lab.routers[_VICTIM]
    while not has_results.wait(0.2):
        if stopping.is_set():
            return
    if stopping.wait(_CALM_SECONDS):
        return
    began_ns = time.time_ns()
    router.kill()
    tell(f"router {_VICTIM}, in the middle of the line, was killed")
    _record(stack, events.Event(began_ns, None, "fault", (), f"router {_VICTIM} killed"))
    if stopping.wait(_DOWN_SECONDS):
        return
    router.start()
    stack.lab.wait_connected()
    down_seconds = (time.time_ns() - began_ns) / 1e9
    tell(f"router {_VICTIM} is back after {down_seconds:.1f} s")
    text = f"router {_VICTIM} down for {down_seconds:.1f} s"
    _record(stack, events.Event(began_ns, time.time_ns(), "fault", (), text))


def _record(stack: Stack, event: events.Event) -> None:
    put(Kafka(servers=(stack.lab.kafka.bootstrap,), prefix=PREFIX), topics.EVENTS, events.encode(event))
