"""The archive's folders and columns, which its writer and its readers share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from collectors.contract.window_rows import CLASSES

LANDING: Final = "landing"
DAILY: Final = "daily"
_TYPES: Final = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """One kind of rows: where below the archive's folder, by which columns questions are asked.

    A column has its place in the row and its type; beside them `row` holds everything, exactly as it was.
    """

    folder: str  # empty: the archive's own
    columns: Mapping[str, tuple[str, str]]
    identity: tuple[str, ...]  # the revision comes last
    time: str  # the column that tells a row's day

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [*((name, _TYPES[kind]) for name, (_, kind) in self.columns.items()), ("row", pa.string())]
        )

    def values(self, row: bytes) -> dict[str, Any]:
        """Return the columns of a row as the accounting encodes it."""
        found = json.loads(row)
        columns = {name: _at(found, re.findall(r"\w+", place)) for name, (place, _) in self.columns.items()}
        return {**columns, "row": row.decode()}

    def root(self, archive: str) -> str:
        """Return the folder of these rows in an archive."""
        return f"{archive}/{self.folder}" if self.folder else archive


def _at(row: Any, place: list[str]) -> Any:
    for name in place:
        if row is None:
            return None
        row = row.get(name)
    return row


WINDOWS: Final = Layout(
    folder="",
    columns={
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
    },
    identity=("path", "window_start_ns", "window_ns", "rules", "revision"),
    time="window_start_ns",
)
ATTRIBUTION: Final = Layout(
    folder="attribution",
    columns={
        "path": ("$.path", "string"),
        "mesh": ("$.mesh", "string"),
        "kind": ("$.kind", "string"),
        "episode_ns": ("$.episode_ns", "bigint"),
        "revision": ("$.revision", "int"),
        "final": ("$.final", "boolean"),
        "from_ns": ("$.from_ns", "bigint"),
        "to_ns": ("$.to_ns", "bigint"),
        **{name: (f"$.{name}", "bigint") for name in ("sent", "lost", "refused")},
    },
    identity=("path", "kind", "episode_ns", "revision"),
    time="episode_ns",
)
ALL: Final = (WINDOWS, ATTRIBUTION)
