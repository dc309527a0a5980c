"""Where records go that stay in this process: to a function."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable
from typing import Final

from collectors.contract.records import Gap
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.sink")


class InProcessSink:
    """For `inflight run` and `inflight ping`: the very bytes that Kafka would get, in the same order.

    They are taken in a thread of their own: what is made of them must not hold up messages.
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
        """Why records are not taken."""
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
