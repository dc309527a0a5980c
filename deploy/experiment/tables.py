"""Results as Parquet: windows as the archive has them, and what routers, brokers, events and memory told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from streaming.archive.layout import WINDOWS

_AT_ONCE: Final = 2_000  # rows that are written together
_POLLS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("mesh", "target", "entity")),
        *((name, pa.int64()) for name in ("at_ns", "asked_ns", "answered_ns", "interval_ns", "poll")),
        ("restarted", pa.bool_()),
        ("row", pa.string()),
    ]
)
_EVENTS: Final = pa.schema(
    [
        ("at_ns", pa.int64()),
        ("until_ns", pa.int64()),
        *((name, pa.string()) for name in ("kind", "do", "what", "text")),
        ("paths", pa.list_(pa.string())),
    ]
)
_MEMORY: Final = pa.schema([("part", pa.string()), ("at_ns", pa.int64()), ("resident_bytes", pa.int64())])


class Table:
    """A file that is filled while a run goes on, from any thread; one without rows is not made."""

    def __init__(self, file: Path, schema: pa.Schema) -> None:
        self._file, self._schema = file, schema
        self._waiting: list[Mapping[str, Any]] = []
        self._writer: Any = None
        self._lock = threading.Lock()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        with self._lock:
            self._waiting += rows
            if len(self._waiting) >= _AT_ONCE:
                self._write()

    def close(self) -> None:
        with self._lock:
            self._write()
            if self._writer is not None:
                self._writer.close()

    def _write(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        self._writer.write_table(pa.Table.from_pylist(self._waiting, self._schema))
        self._waiting = []


def of_polls(file: Path) -> Table:
    return Table(file, _POLLS)


def poll_rows(record: Telemetry) -> Iterable[dict[str, Any]]:
    """Yield a record's rows, each as JSON beside when it was asked for."""
    same = {name: getattr(record, name) for name in _POLLS.names if name != "row"}
    for row in record.rows:
        yield {**same, "row": json.dumps(row, ensure_ascii=False, separators=(",", ":"))}


def of_events(file: Path) -> Table:
    return Table(file, _EVENTS)


def event_row(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in _EVENTS.names if name != "paths"} | {
        "paths": [*event.paths]
    }


def of_memory(file: Path) -> Table:
    return Table(file, _MEMORY)


def of_windows(file: Path) -> Table:
    return Table(file, WINDOWS.schema)
