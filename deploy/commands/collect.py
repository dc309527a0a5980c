"""`inflight collect`: what routers and brokers say about themselves, to /metrics and to Kafka."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import click
from prometheus_client import CollectorRegistry

from collectors.exposition import Exposition, ListenError
from collectors.fleet import Fleet
from collectors.pace import Stop
from deploy.errors import Problem
from deploy.options import config_option, load_config, site_option
from deploy.results import add_build_info
from deploy.signals import stop_on_signals

_log: Final = logging.getLogger("inflight.collect")


@click.command(short_help="Watch all routers and brokers of a site; serves /metrics.")
@config_option
@site_option
@click.option(
    "--listen", default="127.0.0.1:9752", show_default=True, help="Address to listen on, HOST:PORT."
)
def command(config_file: Path, site: str | None, listen: str) -> None:
    """Poll every mesh and broker in the config, read-only, until stopped.

    /metrics is for Prometheus, and needs neither Kafka nor Spark; where the config has `kafka`, every poll
    also goes there as records, for the job to tell which hop loses messages.
    """
    config = load_config(config_file, site)
    if not config.meshes and not config.brokers:
        raise Problem(f"{config_file} has no `meshes` and no `brokers`: there is nothing to collect")
    registry = CollectorRegistry()
    add_build_info(registry, "collect", config)
    fleet = Fleet(config, registry)
    try:
        server = Exposition(listen, registry, fleet.not_ready)
    except ListenError as error:
        raise Problem(str(error)) from None
    stop = Stop()
    stop_on_signals(stop)
    fleet.start()
    _log.info("serving %s/metrics", server.url)
    stop.wait()
    fleet.close()
    server.close()
