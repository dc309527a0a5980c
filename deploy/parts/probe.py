"""The part `probe`: ends of paths, whose records go to Kafka."""

from __future__ import annotations

import gc
import logging
from collections.abc import Collection
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.http.part_server import PartServer
from collectors.kafka.client import create_topics
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from collectors.probe.durable.recovery import recover
from collectors.probe.durable.state_folder import EndTaken, StateFolder
from collectors.probe.prober import Prober, Settings
from collectors.process.worker import joined
from deploy.errors import Problem
from deploy.parts.build_info import add_build_info
from deploy.parts.ends import choose_paths, end_names, spool_bytes
from deploy.parts.metrics import ProbeMetrics, SinkMetrics
from deploy.parts.part import Part, without_kafka

_log: Final = logging.getLogger("inflight.probe")
DEFAULT_LISTEN: Final = "127.0.0.1:9751"


class ProbePart(Part):
    """Runs ends of the paths of these names, or of all; of these numbers, or all of a path's ends."""

    def __init__(
        self,
        config: Config,
        names: Collection[str] = (),
        numbers: Collection[int] = (),
        *,
        send: bool = True,
        receive: bool = True,
        make_topics: bool = False,
        listen: str = DEFAULT_LISTEN,
    ) -> None:
        super().__init__()
        if config.kafka is None:
            raise without_kafka("probe")
        sending, receiving = choose_paths(config, names, send=send, receive=receive)
        wanted = frozenset(numbers) or None
        ends = end_names(sending, receiving, wanted)
        registry = CollectorRegistry()
        add_build_info(registry, "probe", config)
        with self._making(config.state) as taken:
            # First: the next start would take a probe for killed that begins to measure and is refused then.
            self._server = PartServer(listen, registry, self.not_ready)
            taken.callback(self._server.close)
            if make_topics:
                for topic in create_topics(config.kafka):
                    _log.info("made topic %s", topic)
            state_folder = StateFolder.take(config.state / "probe")
            taken.callback(state_folder.release)
            try:
                state_folder.claim(ends)
            except EndTaken as end:
                raise Problem(
                    f"{end} is run by another process of this host already; end that one, or choose others by"
                    " --path, --send, --receive or --number"
                ) from None
            limit = spool_bytes(sending, receiving, config.defaults.spool)
            self._sink = KafkaSink(config.kafka, Spool(state_folder.folder / "spool", limit))
            taken.callback(self._sink.close)
            journals = state_folder.folder / "journal"
            recover(journals, self._sink)
            settings = Settings(
                site=config.site, max_rate=config.defaults.max_rate, journals=journals, numbers=wanted
            )
            self._prober = Prober(sending, receiving, config.endpoints, self._sink, settings)
            taken.callback(gc.unfreeze)  # the prober freezes what is there, for good: a process may go on
            taken.callback(self._prober.stop)
            registry.register(ProbeMetrics(self._prober, config.site))
            registry.register(SinkMetrics(self._sink, "probe", config.site))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def ended(self) -> bool:
        return self._prober.ended.is_set()

    @property
    def failure(self) -> str | None:
        failure = self._prober.failure
        return failure and f"{failure}; the next start publishes what was measured until then"

    def _start(self) -> None:
        self._sink.start()
        self._prober.start()
        counts = len(self._prober.senders), len(self._prober.receivers)
        _log.info("%d senders and %d receivers; metrics at %s/metrics", *counts, self.url)

    def _why_not_ready(self) -> str | None:
        return joined(self._prober.not_ready(), self._sink.not_ready())
