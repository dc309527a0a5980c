"""The server of `export` and `run`: /metrics with the paths in it, the live page, the runbook."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from collectors.http.part_server import PartServer
from dashboards.page import routes
from streaming.exporter import Exporter


def serve_results(
    exporter: Exporter,
    registry: CollectorRegistry,
    listen: str,
    not_ready: Callable[[], str | None] = lambda: None,
    text: Callable[[], str] | None = None,
) -> PartServer:
    """Serve until closed; `text` returns what /metrics has beside the registry: the paths unless given."""
    hosts = exporter.config.export.hosts
    return PartServer(
        listen, registry, not_ready, routes(exporter, not_ready), text or exporter.render, hosts
    )
