"""What tests of dashboards know of the servers that they share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Running:
    """Where Grafana and Prometheus are; the token is of a service account with the role Admin."""

    grafana_url: str
    prometheus_url: str
    token_file: Path
