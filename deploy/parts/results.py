"""What `export` and `run` serve: /metrics with the paths in it, and the live page."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

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
