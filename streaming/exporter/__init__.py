"""Turns window and live rows into `/metrics` and into what the live page shows.

`core` is what others use. Pure: `path_counters`, `error_budget` and `episodes` count, `row_checks` checks
rows, `path_state` evaluates states, `metrics_text`, `page_data` and `why_data` render. The shell:
`state_file`, a file, and `consumer`, Kafka.
"""

from __future__ import annotations

from streaming.exporter.core import Exporter

__all__ = ["Exporter"]
