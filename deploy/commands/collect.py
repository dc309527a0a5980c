"""`inflight collect`: what routers and brokers say about themselves, to /metrics and to Kafka."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

import click
from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.config.secrets import SecretError
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, ROUTER, Topic
from collectors.http.monitoring import Exposition, ListenError
from collectors.kafka.client import KafkaSetupError, create_topics
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from collectors.polling.metric_cache import Board
from collectors.polling.schedule import Stop
from collectors.probe.durable.state_folder import StateFolder
from collectors.process.worker import joined
from collectors.runner import Fleet
from deploy.errors import Problem
from deploy.options import LISTEN, config_option, load_config, no_state, site_option
from deploy.parts.probing import SinkMetrics
from deploy.parts.results import add_build_info
from deploy.signals import stop_on_signals

_log: Final = logging.getLogger("inflight.collect")
_SPOOL_BYTES: Final = 256 << 20
_TOPICS: Final = {topic.suffix: topic for topic in (ROUTER, BROKER)}


@click.command()
@config_option
@site_option
@click.option("--create-topics", "make_topics", is_flag=True, help="Make the Kafka topics that are missing.")
@click.option(
    "--listen", type=LISTEN, default="127.0.0.1:9752", show_default=True, help="Address to listen on."
)
def command(config_file: Path, site: str | None, listen: str, *, make_topics: bool) -> None:
    """Poll every mesh and broker in the config, read-only, until stopped.

    /metrics is for Prometheus, and needs neither Kafka nor Spark; where the config has `kafka`, every poll
    also goes there as records, for `inflight export` to show routers, links and queues on its page.
    """
    config = load_config(config_file, site)
    if not config.meshes and not config.brokers:
        raise Problem(f"{config_file} has no `meshes` and no `brokers`: there is nothing to collect")
    registry = CollectorRegistry()
    add_build_info(registry, "collect", config)
    stop = Stop()
    try:
        records = _Records(config, registry, make_topics=make_topics) if config.kafka else None
        board = Board()
        fleet = Fleet(config, registry, records.publish if records else _nowhere, board=board)
        server = Exposition(
            listen,
            registry,
            lambda: joined(fleet.not_ready(), records.not_ready() if records else None),
            text=board.render,
        )
    except (KafkaSetupError, SecretError, ListenError) as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise no_state(config, error) from None
    stop_on_signals(stop)
    fleet.start()
    _log.info("serving %s/metrics", server.url)
    stop.wait()
    fleet.close()
    if records:
        records.close()
    server.close()


def _nowhere(topic: Topic, record: Telemetry) -> None:
    """Without Kafka, /metrics is all."""


class _Records:
    """The way to Kafka: over a spool on disk, which bounds what waits while Kafka is away."""

    def __init__(self, config: Config, registry: CollectorRegistry, *, make_topics: bool) -> None:
        assert config.kafka is not None  # noqa: S101 -- asked by the caller, for the type checker
        if make_topics:
            for topic in create_topics(config.kafka):
                _log.info("made topic %s", topic)
        self._lock = threading.Lock()
        self._slot = StateFolder.take(config.state / "collect")
        spool = Spool(self._slot.folder / "spool", _SPOOL_BYTES)
        self._sink = KafkaSink(config.kafka, spool, lambda key: _TOPICS[key.partition("/")[0]])
        registry.register(SinkMetrics(self._sink, "collect", config.site))
        self._sink.start()

    def publish(self, topic: Topic, record: Telemetry) -> None:
        data = record.encode()
        with self._lock:  # the spool has one writer, the collectors are many
            self._sink.put(data, f"{topic.suffix}/{record.key}")

    def not_ready(self) -> str | None:
        return self._sink.not_ready()

    def close(self) -> None:
        self._sink.close()
        self._slot.release()
