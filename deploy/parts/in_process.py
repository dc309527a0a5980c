"""Accounting in the process of the probes, in place of Kafka and Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from collectors.config.model import Config
from collectors.config.paths import default_rules, resolve
from collectors.contract import attribution_rows
from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import BadTelemetry, Telemetry, decode
from collectors.contract.topics import BROKER, ROUTER, Topic
from collectors.contract.window_rows import decode_live, decode_window, encode
from collectors.process import wall_clock
from collectors.process.worker import Worker, joined
from deploy.parts.in_process_hops import InProcessHops
from streaming.accounting import Accountant
from streaming.attribution import places
from streaming.exporter import Exporter

_log: Final = logging.getLogger("inflight.run")
_LIVE_SECONDS: Final = 1.0
_FORGET_NS: Final = 24 * 3_600 * 10**9  # as the topic's retention would


class InProcessAccounting:
    """Takes the bytes that would go to Kafka, and gives the exporter the rows that the job would write.

    Final rows go to `on_row`, too, in the thread that calls `take`; rows of the attribution to `on_hops`, in
    one of its own.
    """

    def __init__(
        self,
        config: Config,
        exporter: Exporter,
        on_row: Callable[[bytes], None] = lambda _: None,
        on_hops: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        rules = {name: path.rules for name, path in resolve(config).items()}
        fallback = default_rules(config)
        self._accountant = Accountant(lambda name: rules.get(name, fallback))
        self._exporter = exporter
        self._on_row, self._on_hops = on_row, on_hops
        self._hops = InProcessHops(places.of_config(config), self._show_hops)
        self._show_of: Final = {ROUTER: exporter.apply_router, BROKER: exporter.apply_broker}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._worker = Worker("live", self._show_live)

    def start(self) -> None:
        self._worker.start()
        self._hops.start()

    def take(self, record: bytes, key: str) -> None:
        """Count a record of a probe; its rows are shown when this returns."""
        with self._lock:
            fed = self._accountant.feed(record, wall_clock.now_ns(), key)
            if fed.dead_letter is not None:
                _log.error("path %s: a record of this process is refused: %s", key, fed.dead_letter)
        for row in fed.rows:
            window = decode_window(row)
            self._exporter.apply_window(window)
            self._on_row(row)
            self._hops.take_window(window)

    def take_poll(self, topic: Topic, record: Telemetry) -> None:
        """Show a record of a collector."""
        try:
            told = decode(record.encode())
            self._show_of[topic](told)
        except (BadTelemetry, ValueError) as error:
            self._exporter.count_bad(topic.suffix)
            _log.warning("%s of %s cannot be shown: %s", record.entity, record.key, error)
        else:
            self._hops.take_poll(topic, told)

    def take_event(self, event: Event) -> None:
        """Show what was done to the network on purpose."""
        self._exporter.apply_event(event)
        self._hops.take_event(event)

    def not_ready(self) -> str | None:
        """Returns why live rows, or hops, are not shown, or None."""
        return joined(self._worker.problem, self._hops.not_ready())

    def close(self) -> None:
        self._stop.set()
        self._worker.join()
        self._live()
        self._hops.close()

    def _show_hops(self, row: AttributionRow) -> None:
        self._exporter.apply_attribution(row)
        self._on_hops(attribution_rows.encode(row))

    def _show_live(self) -> None:
        while not self._stop.wait(_LIVE_SECONDS):
            self._live()

    def _live(self) -> None:
        try:
            with self._lock:
                found = self._accountant.live()
                self._accountant.tidy()
                self._accountant.forget(wall_clock.now_ns() - _FORGET_NS)
            for row in found:
                live = decode_live(encode(row))
                self._exporter.apply_live(live)
                self._hops.take_live(live)
        except Exception:  # noqa: BLE001 -- a row that cannot be shown must not end the others
            _log.exception("live rows could not be shown")
