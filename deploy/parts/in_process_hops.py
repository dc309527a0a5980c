"""Attribution in the process of the probes: fed with what the exporter is shown."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from collectors.process import wall_clock
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker
from streaming.attribution.engine import Attribution
from streaming.attribution.groups import Groups, Make
from streaming.attribution.places import Place

_log: Final = logging.getLogger("inflight.run")
_TURN_SECONDS: Final = 1.0


class InProcessHops:
    """Takes things from any thread, which it never holds up for long: turns are in a thread of its own.

    There is one each second, and one at once when a window is final. Rows go to `on_row` there.
    """

    def __init__(
        self,
        places: Mapping[str, Place],
        on_row: Callable[[AttributionRow], None],
        make: Make = Attribution,
    ) -> None:
        self._groups = Groups(places, make)
        self._on_row = on_row
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._ending = False
        self._trouble = Trouble(_log)
        self._worker = Worker("hops", self._work)

    def start(self) -> None:
        self._worker.start()

    def take_window(self, row: WindowRow) -> None:
        self._feed("window", lambda now_ns: self._groups.feed_window(row, now_ns))
        self._due.set()

    def take_live(self, row: LiveRow) -> None:
        self._feed("live row", lambda now_ns: self._groups.feed_live(row, now_ns))

    def take_poll(self, topic: Topic, record: Telemetry) -> None:
        self._feed(record.entity, lambda now_ns: self._groups.feed_poll(topic, record, now_ns))

    def take_event(self, event: Event) -> None:
        self._feed("event", lambda now_ns: self._groups.feed_event(event, now_ns))

    def not_ready(self) -> str | None:
        """Returns why losses are not explained, or None."""
        return self._worker.problem

    def close(self) -> None:
        """Give the last turn."""
        self._ending = True
        self._due.set()
        self._worker.join()
        self._turn()

    def _feed(self, what: str, feed: Callable[[int], None]) -> None:
        with self._lock:
            try:
                feed(wall_clock.now_ns())
            except Exception as error:  # noqa: BLE001 -- whoever measures goes on without an explanation
                self._trouble.tell(f"the attribution cannot use a {what}: {type(error).__name__}: {error}")

    def _work(self) -> None:
        while not self._ending:
            self._due.wait(_TURN_SECONDS)
            self._due.clear()
            self._turn()

    def _turn(self) -> None:
        with self._lock:
            self._groups.advance(wall_clock.now_ns())
            rows = self._groups.turn()
            begun_anew = self._groups.begun_anew()
        for group, why in begun_anew:
            _log.error("the attribution of the group %s begins anew: %s", group, why)
        for row in rows:
            self._on_row(row)
