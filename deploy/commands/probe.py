"""`inflight probe`: the ends of paths that this host runs, their records to Kafka."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

import click
from prometheus_client import CollectorRegistry

from collectors.config.secrets import SecretError
from collectors.http.monitoring import Exposition, ListenError
from collectors.kafka.client import KafkaSetupError, create_topics
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from collectors.probe.durable.recovery import recover
from collectors.probe.durable.state_folder import EndTaken, StateFolder
from collectors.probe.prober import Prober, Settings
from collectors.process.worker import joined
from deploy.errors import Problem
from deploy.options import LISTEN, config_option, load_config, no_state, site_option
from deploy.parts.probing import ProbeMetrics, SinkMetrics, choose, end_names, spool_bytes, until_stopped
from deploy.parts.results import add_build_info
from deploy.signals import stop_on_signals

_log: Final = logging.getLogger("inflight.probe")
DEFAULT_LISTEN: Final = "127.0.0.1:9751"


@click.command()
@config_option
@site_option
@click.option("--send", is_flag=True, help="Run only the sending ends (with --receive: both).")
@click.option("--receive", is_flag=True, help="Run only the receiving ends (with --send: both).")
@click.option("--path", "names", multiple=True, help="Only this path; may be given several times.")
@click.option(
    "--number",
    "numbers",
    type=click.IntRange(min=0),
    multiple=True,
    help="Of a path's several senders or receivers only this one, from 0; may be given several times.",
)
@click.option("--create-topics", "make_topics", is_flag=True, help="Make the Kafka topics that are missing.")
@click.option(
    "--listen", type=LISTEN, default=DEFAULT_LISTEN, show_default=True, help="Address to listen on."
)
def command(
    config_file: Path,
    site: str | None,
    names: tuple[str, ...],
    numbers: tuple[int, ...],
    listen: str,
    *,
    send: bool,
    receive: bool,
    make_topics: bool,
) -> None:
    """Run ends of the config's paths: of all of them, or of those named by --path.

    Start it on each host with --send or --receive, or once with neither where one host does both. Several
    `senders` or `receivers` of a path can be spread over processes and hosts, each with its --number.
    Records wait in the config's `state` folder while Kafka is away, also across restarts.
    """
    config = load_config(config_file, site)
    if config.kafka is None:
        raise Problem(
            f"{config_file} has no `kafka`, which is where `inflight probe` puts its records;"
            " `inflight run` does everything in one process"
        )
    sending, receiving = choose(config, names, send=send, receive=receive)
    wanted = frozenset(numbers) or None
    ends = end_names(sending, receiving, wanted)
    registry = CollectorRegistry()
    add_build_info(registry, "probe", config)
    prober: Prober | None = None
    try:
        # First: what begins to measure and is refused then is taken for killed by the next start.
        server = Exposition(
            listen,
            registry,
            lambda: "not started yet" if prober is None else joined(prober.not_ready(), sink.not_ready()),
        )
        if make_topics:
            for topic in create_topics(config.kafka):
                _log.info("made topic %s", topic)
        slot = StateFolder.take(config.state / "probe")
        slot.claim(ends)
        limit = spool_bytes(sending, receiving, config.defaults.spool)
        sink = KafkaSink(config.kafka, Spool(slot.folder / "spool", limit))
        journals = slot.folder / "journal"
        recover(journals, sink)
        settings = Settings(
            site=config.site, max_rate=config.defaults.max_rate, journals=journals, numbers=wanted
        )
        prober = Prober(sending, receiving, config.endpoints, sink, settings)
        registry.register(ProbeMetrics(prober, config.site))
        registry.register(SinkMetrics(sink, "probe", config.site))
    except EndTaken as end:
        raise Problem(
            f"{end} is run by another process of this host already; end that one, or choose others by"
            " --path, --send, --receive or --number"
        ) from None
    except (KafkaSetupError, SecretError, ListenError) as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise no_state(config, error) from None
    stop = threading.Event()
    stop_on_signals(stop)
    sink.start()
    prober.start()
    _log.info(
        "%d senders and %d receivers; metrics at %s/metrics",
        len(prober.senders),
        len(prober.receivers),
        server.url,
    )
    until_stopped(stop, prober)
    prober.stop()
    sink.close()
    server.close()
    slot.release()
    if prober.failure:
        raise Problem(f"{prober.failure}; the next start publishes what was measured until then")
