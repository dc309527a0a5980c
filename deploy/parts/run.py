"""The part `run`: probes, collectors, accounting and exporter in one process; no Kafka, no JVM."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.kafka.in_process_sink import InProcessSink
from collectors.polling.metric_cache import MetricCache
from collectors.probe.prober import Prober, Settings
from collectors.process.worker import joined
from collectors.runner import CollectorRunner
from deploy import marks
from deploy.parts.build_info import add_build_info
from deploy.parts.ends import choose_paths
from deploy.parts.event_file import EventFile
from deploy.parts.in_process import InProcessAccounting
from deploy.parts.metrics import ProbeMetrics
from deploy.parts.part import Part
from deploy.parts.results_server import serve_results
from deploy.parts.row_archive import RowArchive
from streaming.exporter import Exporter

_log: Final = logging.getLogger("inflight.run")


class RunPart(Part):
    """Measures the paths of these names, or all; `on_row` is called with each final row, as encoded bytes.

    With a folder `archive` it keeps these rows there, too.
    """

    def __init__(
        self,
        config: Config,
        names: Collection[str] = (),
        *,
        listen: str | None = None,
        on_row: Callable[[bytes], None] = lambda _: None,
        archive: Path | None = None,
    ) -> None:
        super().__init__()
        sending, receiving = choose_paths(config, names)
        registry = CollectorRegistry()
        add_build_info(registry, "run", config)
        self.exporter: Final = Exporter(config, registry)
        cache = MetricCache()
        settings = Settings(site=config.site, max_rate=config.defaults.max_rate)
        with self._making() as taken:
            self._server = serve_results(
                self.exporter,
                registry,
                listen or config.export.listen,
                self.not_ready,
                lambda: self.exporter.render() + cache.render(),
            )
            taken.callback(self._server.close)
            taken.callback(cache.steady.close)
            self._archive = RowArchive(archive, self.exporter.effects_told) if archive else None
            if self._archive:
                taken.callback(self._archive.close)
            self._on_row = on_row
            self._accounting = InProcessAccounting(config, self.exporter, self._take_row, self._take_hops)
            taken.callback(self._accounting.close)
            self._collectors = CollectorRunner(config, registry, self._accounting.take_poll, cache=cache)
            taken.callback(self._collectors.close)
            self._events = EventFile(
                config.state / marks.FILE,
                self._accounting.take_event,
                lambda: self.exporter.count_bad("events"),
            )
            taken.callback(self._events.close)
            self._sink = InProcessSink(self._accounting.take)
            taken.callback(self._sink.close)
            self.prober: Final = Prober(sending, receiving, config.endpoints, self._sink, settings)
            taken.callback(gc.unfreeze)  # the prober freezes what is there, for good: a process may go on
            taken.callback(self.prober.stop)
            registry.register(ProbeMetrics(self.prober, config.site))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def ended(self) -> bool:
        return self.prober.ended.is_set()

    @property
    def failure(self) -> str | None:
        return self.prober.failure

    def _take_row(self, row: bytes) -> None:
        if self._archive:
            self._archive.add(row)
        self._on_row(row)

    def _take_hops(self, row: bytes) -> None:
        if self._archive:
            self._archive.add_attribution(row)

    def _start(self) -> None:
        if self._archive:
            self._archive.start()
        self._accounting.start()
        self._collectors.start()
        self._events.start()
        self.prober.start()
        counts = len(self.prober.senders), len(self.prober.receivers)
        _log.info("%d senders, %d receivers; %s/metrics, %s/ for people", *counts, self.url, self.url)

    def _why_not_ready(self) -> str | None:
        return joined(
            self.prober.not_ready(),
            self._sink.not_ready(),
            self._accounting.not_ready(),
            self._collectors.problem,
            self._archive.not_ready() if self._archive else None,
            self._events.not_ready(),
        )
