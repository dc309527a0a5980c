"""What `demo --fault` does: the story of that name in the network's file."""

from __future__ import annotations

import threading
from collections.abc import Callable

from collectors.config import load
from deploy.actions.here import InProcess
from deploy.actions.marking import Marks
from deploy.actions.player import play
from deploy.demo.stack import Stack

_STORY = "fault"
_MENDED_SECONDS = 5.0  # until probes have found their ways again


def break_and_mend(
    stack: Stack, has_results: threading.Event, stopping: threading.Event, tell: Callable[[str], None]
) -> None:
    """Play the story from the first results on, and wait until all is well.

    What is broken when `stopping` is set is mended before this returns.
    """
    while not has_results.wait(0.2):
        if stopping.is_set():
            return
    story = stack.lab.plan.topology.stories[_STORY]
    with Marks(tell) as marks:
        play(story, InProcess(stack.lab), marks.to(load.load(stack.config_file)), stopping, tell)
    if not stopping.is_set():
        stack.lab.wait_connected()
        stopping.wait(_MENDED_SECONDS)
