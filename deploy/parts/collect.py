"""The part `collect`: polls of routers and brokers, to /metrics and to Kafka."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.config.model import Config, Kafka
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, ROUTER, Topic
from collectors.http.part_server import PartServer
from collectors.kafka.client import create_topics
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from collectors.polling.metric_cache import MetricCache
from collectors.probe.durable.state_folder import StateFolder
from collectors.process.worker import joined
from collectors.runner import CollectorRunner
from deploy.errors import Problem
from deploy.parts.build_info import add_build_info
from deploy.parts.metrics import SinkMetrics
from deploy.parts.part import Part

_log: Final = logging.getLogger("inflight.collect")
_SPOOL_BYTES: Final = 256 << 20
_TOPICS: Final = {topic.suffix: topic for topic in (ROUTER, BROKER)}
DEFAULT_LISTEN: Final = "127.0.0.1:9752"


class CollectPart(Part):
    """Polls all meshes and brokers of the config; records go to Kafka where the config has one."""

    def __init__(self, config: Config, *, make_topics: bool = False, listen: str = DEFAULT_LISTEN) -> None:
        super().__init__()
        if not config.meshes and not config.brokers:
            raise Problem("the config has no `meshes` and no `brokers`: there is nothing to collect")
        registry = CollectorRegistry()
        add_build_info(registry, "collect", config)
        cache = MetricCache()
        with self._making(config.state) as taken:
            self._server = PartServer(listen, registry, self.not_ready, text=cache.render)
            taken.callback(self._server.close)
            taken.callback(cache.steady.close)
            if config.kafka and make_topics:
                for topic in create_topics(config.kafka):
                    _log.info("made topic %s", topic)
            self._kafka = _ToKafka(config, config.kafka, registry, taken) if config.kafka else None
            self._collectors = CollectorRunner(config, registry, self._publish, cache=cache)
            taken.callback(self._collectors.close)

    @property
    def url(self) -> str:
        return self._server.url

    def _start(self) -> None:
        if self._kafka:
            self._kafka.sink.start()
        self._collectors.start()
        _log.info("serving %s/metrics", self.url)

    def _why_not_ready(self) -> str | None:
        return joined(self._collectors.not_ready(), self._kafka.sink.not_ready() if self._kafka else None)

    def _publish(self, topic: Topic, record: Telemetry) -> None:
        if self._kafka:
            self._kafka.publish(topic, record)


class _ToKafka:
    """The way to Kafka, over a spool on disk that bounds what waits while Kafka is away."""

    def __init__(self, config: Config, kafka: Kafka, registry: CollectorRegistry, taken: ExitStack) -> None:
        self._lock = threading.Lock()
        state_folder = StateFolder.take(config.state / "collect")
        taken.callback(state_folder.release)
        spool = Spool(state_folder.folder / "spool", _SPOOL_BYTES)
        self.sink: Final = KafkaSink(kafka, spool, lambda key: _TOPICS[key.partition("/")[0]])
        taken.callback(self.sink.close)
        registry.register(SinkMetrics(self.sink, "collect", config.site))

    def publish(self, topic: Topic, record: Telemetry) -> None:
        data = record.encode()
        with self._lock:  # the spool has one writer, the collectors are many
            self.sink.put(data, f"{topic.suffix}/{record.key}")
