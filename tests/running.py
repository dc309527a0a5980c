"""The servers that tests of dashboards share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Running:
    """URLs of Grafana and Prometheus, and the token of a service account with the role Admin."""

    grafana_url: str
    prometheus_url: str
    token_file: Path
