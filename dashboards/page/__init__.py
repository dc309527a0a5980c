"""The live page: a small one for those with no Grafana at hand, and the JSON behind it."""

from __future__ import annotations

from dashboards.page.routes import routes

__all__ = ["routes"]
