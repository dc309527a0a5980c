"""The archive's folders and columns, which its writer and its readers share."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from collectors.contract.window_rows import CLASSES

LANDING: Final = "landing"
DAILY: Final = "daily"
IDENTITY: Final = ("path", "window_start_ns", "window_ns", "rules", "revision")

# Columns that questions are asked by: place in the row, type. `row` holds everything, exactly as it was.
COLUMNS: Final[dict[str, tuple[str, str]]] = {
    "path": ("$.path", "string"),
    "mesh": ("$.mesh", "string"),
    "window_start_ns": ("$.window_start_ns", "bigint"),
    "window_ns": ("$.window_ns", "bigint"),
    "rules": ("$.rules", "string"),
    "revision": ("$.revision", "int"),
    "complete": ("$.complete", "boolean"),
    "sent": ("$.sent", "bigint"),
    **{name: (f"$.classes.{name}", "bigint") for name in CLASSES},
    "p50_ns": ("$.response.percentiles['50']", "bigint"),
    "p99_ns": ("$.response.percentiles['99']", "bigint"),
    "max_ns": ("$.response.max_ns", "bigint"),
}
_TYPES: Final = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
SCHEMA: Final = pa.schema(
    [*((name, _TYPES[kind]) for name, (_, kind) in COLUMNS.items()), ("row", pa.string())]
)
