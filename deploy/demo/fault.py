"""What `demo --fault` does: a story, from the first results on, and what Inflight says of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from collectors.config import load
from collectors.process.worker import Worker
from deploy.actions.here import InProcess
from deploy.actions.marking import Marks
from deploy.actions.player import play
from deploy.demo.stack import Stack
from deploy.demo.stories import Story
from deploy.demo.verdict import Span, Verdict, wait_final

_MENDED_SECONDS: Final = 5.0  # until probes have found their ways again
_FINAL_SECONDS: Final = 120.0  # windows settle, polls come in; without polls it is final after a minute


class Breaking:
    """A story that is played in a thread of its own, and its verdict once that is known."""

    def __init__(self, story: Story, stack: Stack, tell: Callable[[str], None]) -> None:
        self.verdict: Verdict | None = None
        self._story, self._stack, self._tell = story, stack, tell
        self._worker: Worker | None = None

    @property
    def over(self) -> bool:
        return self._worker is not None and self._worker.ended.is_set()

    def begin(self, has_results: threading.Event, stopping: threading.Event) -> None:
        """Play the story from the first results on, wait until all is well, and tell which hop it was.

        What is broken when `stopping` is set is mended before it is over.
        """
        self._worker = Worker("story", partial(self._play, has_results, stopping), again=False)
        self._worker.start()

    def _play(self, has_results: threading.Event, stopping: threading.Event) -> None:
        while not has_results.wait(0.2):
            if stopping.is_set():
                return
        actions = self._stack.lab.plan.topology.stories[self._story.name]
        from_ns = time.time_ns() + min(action.after for action in actions)
        with Marks(self._tell) as marks:
            mark = marks.to(load.load(self._stack.config_file))
            play(actions, InProcess(self._stack.lab), mark, stopping, self._tell)
        if stopping.is_set():
            return
        self._stack.lab.wait_connected()
        stopping.wait(_MENDED_SECONDS)
        span = Span(from_ns, time.time_ns())
        url = self._stack.url("export")
        self.verdict = wait_final(url, self._story.path, span, _FINAL_SECONDS, stopping)
        self._tell(self.verdict.text)
        self._tell(f"for more: inflight why {self._story.path} {url}")
