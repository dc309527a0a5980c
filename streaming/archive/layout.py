"""Where the archive keeps what; writer and readers share it."""

from __future__ import annotations

from typing import Final

LANDING: Final = "landing"
DAILY: Final = "daily"
IDENTITY: Final = ("path", "window_start_ns", "window_ns", "rules", "revision")

# Columns that questions are asked by; `row` holds everything, exactly as it was.
COLUMNS: Final = {
    "path": ("$.path", "string"),
    "mesh": ("$.mesh", "string"),
    "window_start_ns": ("$.window_start_ns", "bigint"),
    "window_ns": ("$.window_ns", "bigint"),
    "rules": ("$.rules", "string"),
    "revision": ("$.revision", "int"),
    "complete": ("$.complete", "boolean"),
    "sent": ("$.sent", "bigint"),
    "received": ("$.classes.received", "bigint"),
    "refused": ("$.classes.refused", "bigint"),
    "lost": ("$.classes.lost", "bigint"),
    "unobserved": ("$.classes.unobserved", "bigint"),
    "p50_ns": ("$.response.percentiles['50']", "bigint"),
    "p99_ns": ("$.response.percentiles['99']", "bigint"),
    "max_ns": ("$.response.max_ns", "bigint"),
}
