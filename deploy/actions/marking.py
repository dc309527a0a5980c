"""Writes the events of actions beside them: what is slow, or does not answer, keeps none of them waiting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, Queue
from types import TracebackType
from typing import Final, Self

from collectors.config.model import Config
from collectors.contract.events import Event
from collectors.process.worker import Worker
from deploy import marks
from deploy.actions.performance import Mark, Tell
from deploy.errors import Problem

_MOST: Final = 10_000
_LOOK_SECONDS: Final = 0.1
_END_SECONDS: Final = 40.0  # two events of one action, each given up by Kafka's client after 15 s


class Marks:
    """Events wait in line here, and a thread writes them; the end of the `with` waits a while for them."""

    def __init__(self, tell: Tell, put: Callable[[Config, Event], None] = marks.put) -> None:
        self._tell, self._put = tell, put
        self._waiting: Queue[tuple[Config, Event]] = Queue(_MOST)
        self._ending = False
        self._worker = Worker("marks", self._write)

    def __enter__(self) -> Self:
        self._worker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending = True
        if not self._worker.join(_END_SECONDS):
            left = self._waiting.qsize() + 1
            self._tell(f"{left} events were not written within {_END_SECONDS:g} s, and are given up")

    def to(self, config: Config) -> Mark:
        """Return what writes events where this config says."""
        return partial(self._add, config)

    def _add(self, config: Config, event: Event) -> None:
        self._waiting.put_nowait((config, event))

    def _write(self) -> None:
        while True:
            try:
                config, event = self._waiting.get(timeout=_LOOK_SECONDS)
            except Empty:
                if self._ending:
                    return
                continue
            try:
                self._put(config, event)
            except Problem as problem:
                self._tell(f"the event {event.text!r} is not marked: {problem.message}")
