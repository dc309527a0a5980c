"""The sink of records that stay in this process: a function takes them."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable
from typing import Final

from collectors.contract.records import Gap
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.sink")


class InProcessSink:
    """Hands the bytes that Kafka would get to `take`, in the same order, in a thread of its own.

    What `take` makes of them must not hold up messages.
    """

    def __init__(self, take: Callable[[bytes, str], None]) -> None:
        self._take = take
        self.failed = 0  # records that could not be taken
        self._queue: queue.SimpleQueue[tuple[bytes, str] | None] = queue.SimpleQueue()
        self._worker = Worker("records", self._run)
        self._worker.start()

    def put(self, record: bytes, key: str) -> None:
        self._queue.put((record, key))

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002 -- the interface
        return ()

    def not_ready(self) -> str | None:
        """Returns why records are not taken, or None."""
        return self._worker.problem

    def close(self) -> None:
        """Blocks until all records are taken."""
        self._queue.put(None)
        self._worker.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                self._take(*item)
            except Exception:  # noqa: BLE001 -- one bad record must not stop the others
                self.failed += 1
                _log.exception("a record of path %s could not be taken", item[1])
