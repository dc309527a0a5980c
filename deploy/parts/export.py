"""The part `export`: results from Kafka to /metrics, to the live page and to `inflight top`."""

from __future__ import annotations

import logging
import threading
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.process.worker import Worker, joined
from deploy.errors import Problem
from deploy.parts.build_info import add_build_info
from deploy.parts.part import Part, without_kafka
from deploy.parts.results_server import serve_results
from streaming.exporter import Exporter
from streaming.exporter.consumer import Consumer
from streaming.exporter.state_file import NewerState, StateFile

_log: Final = logging.getLogger("inflight.exporter")
_END_SECONDS: Final = 5.0


class ExportPart(Part):
    """Serves rows of the topics; its counters are kept in the config's `state` folder."""

    def __init__(self, config: Config, *, listen: str | None = None) -> None:
        super().__init__()
        if config.kafka is None:
            raise without_kafka("export")
        registry = CollectorRegistry()
        add_build_info(registry, "exporter", config)
        self.exporter: Final = Exporter(config, registry)
        self._stopping = threading.Event()
        self._reader = Worker("kafka", lambda: self._consumer.run(self._stopping))
        with self._making(config.state) as taken:
            state = StateFile(config.state / "exporter.json", config.kafka.prefix)
            self._consumer = Consumer(self.exporter, config.kafka, state)
            try:
                self._consumer.load()
            except NewerState as error:
                raise Problem(str(error)) from None
            self._server = serve_results(
                self.exporter, registry, listen or config.export.listen, self.not_ready, self._text
            )
            taken.callback(self._server.close)

    @property
    def url(self) -> str:
        return self._server.url

    def stop(self) -> None:
        if self._started:
            self._stopping.set()
            # A request to a Kafka that is gone takes longer, and there is nothing to lose.
            self._reader.join(_END_SECONDS)
            self._consumer.save()
        super().stop()

    def _start(self) -> None:
        _log.info("serving %s/metrics", self.url)
        self._reader.start()

    def _why_not_ready(self) -> str | None:
        return joined(self._reader.problem, self._consumer.not_ready())

    def _text(self) -> str:
        # Until it has caught up: counters below those of its last life look like a reset to Prometheus.
        return "" if self._consumer.behind() else self.exporter.render()
