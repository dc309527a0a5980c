"""What `export` and `run` serve: /metrics with the paths in it, and the live page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge

from collectors.config.model import Config
from collectors.contract.metrics import CATALOGUE
from collectors.http.monitoring import Exposition
from dashboards.page import routes
from streaming.exporter import Exporter


def serve_results(
    exporter: Exporter,
    registry: CollectorRegistry,
    listen: str,
    not_ready: Callable[[], str | None] = lambda: None,
    behind: Callable[[], bool] = lambda: False,
) -> Exposition:
    """Serve until closed; while they are `behind`, without the paths' counters.

    Counters behind those of the last life would look like a restart to Prometheus.
    """

    def paths() -> str:
        return "" if behind() else exporter.render()

    hosts = exporter.config.export.hosts
    return Exposition(listen, registry, not_ready, routes(exporter, not_ready), paths, hosts)


def add_build_info(registry: CollectorRegistry, part: str, config: Config) -> None:
    """`build_info` of this process: parts whose config hashes differ do not run on the same config."""
    metric = CATALOGUE["build_info"]
    gauge = Gauge(metric.full_name, metric.help, metric.labels, registry=registry)
    gauge.labels(part, version("inflight-monitor"), config_hash(config)).set(1)


def config_hash(config: Config) -> str:
    """Short; `site` and `state` are of the host, not of the config that hosts share."""
    text = config.model_dump_json(exclude={"site", "state"})
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
