"""`inflight export`: results from Kafka to /metrics, to the live page and to `inflight top`."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

import click
from prometheus_client import CollectorRegistry

from collectors.config.secrets import SecretError
from collectors.http.monitoring import ListenError
from collectors.kafka.client import KafkaSetupError
from collectors.process.worker import Worker, joined
from deploy.errors import Problem
from deploy.options import LISTEN, config_option, load_config, no_state
from deploy.parts.metrics import add_build_info
from deploy.parts.results import serve_results
from deploy.signals import stop_on_signals
from streaming.exporter import Exporter
from streaming.exporter.consumer import Consumer
from streaming.exporter.state_file import NewerState, StateFile

_log: Final = logging.getLogger("inflight.exporter")
_END_SECONDS: Final = 5.0


@click.command()
@config_option
@click.option("--listen", type=LISTEN, help="Address to listen on; goes before the config's `export.listen`.")
def command(config_file: Path, listen: str | None) -> None:
    """Read final and live results from Kafka, and serve them.

    /metrics is for Prometheus, / is a page for people, and `inflight top` shows the same in a terminal.
    Counters survive a restart: they are kept under the config's `state` folder.
    """
    config = load_config(config_file)
    if config.kafka is None:
        raise Problem(
            f"{config_file} has no `kafka`: `inflight export` reads results from Kafka;"
            " `inflight run` does everything in one process"
        )
    registry = CollectorRegistry()
    add_build_info(registry, "exporter", config)
    exporter = Exporter(config, registry)
    state = StateFile(config.state / "exporter.json", config.kafka.prefix)
    try:
        consumer = Consumer(exporter, config.kafka, state)
        consumer.load()
        address = listen or config.export.listen
        stop = threading.Event()
        reader = Worker("kafka", lambda: consumer.run(stop))
        server = serve_results(
            exporter,
            registry,
            address,
            not_ready=lambda: joined(reader.problem, consumer.not_ready()),
            behind=consumer.behind,
        )
    except (KafkaSetupError, SecretError, NewerState, ListenError) as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise no_state(config, error) from None
    stop_on_signals(stop)
    _log.info("serving %s/metrics", server.url)
    reader.start()
    stop.wait()
    reader.join(_END_SECONDS)  # a request to a Kafka that is gone takes longer, and there is nothing to lose
    consumer.save()
    server.close()
