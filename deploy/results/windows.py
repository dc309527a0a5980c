"""Windows of a run as lines over time, all paths together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectors.contract.window_rows import WindowRow, decode_window
from dashboards.report.model import Line
from deploy.results.tables import batches
from streaming.histogram import Histogram, decode

MAX_MERGED: Final = 20_000  # windows of all paths, whose histograms are added up
_COLUMNS: Final = ("path", "window_start_ns", "window_ns", "revision", "received", "lost", "p50_ns", "p99_ns")
_SHARES: Final = {"p50": (1, 2), "p99": (1, 100)}

_Row = Mapping[str, Any]


def lines(file: Path, began_ns: int) -> dict[str, dict[str, Line]]:
    """Return latency, rate and loss; raises BadTable. The last revision of each window counts."""
    newest: dict[tuple[str, int], _Row] = {}
    for batch in batches(file, [*_COLUMNS, "row"]):
        for row in batch.to_pylist():
            key = row["path"], row["window_start_ns"]
            if key not in newest or newest[key]["revision"] < row["revision"]:
                newest[key] = row
    if not newest:
        return {}
    by_time: dict[int, list[_Row]] = defaultdict(list)
    for row in newest.values():
        by_time[row["window_start_ns"]].append(row)
    starts = sorted(by_time)
    seconds = (np.array(starts) - began_ns) / 1e9
    lengths = np.array([by_time[at][0]["window_ns"] for at in starts]) / 1e9
    received, lost = (
        np.array([sum(row[name] or 0 for row in by_time[at]) for at in starts], float)
        for name in ("received", "lost")
    )
    return {
        "latency_ns": _latencies([by_time[at] for at in starts], seconds, merge=len(newest) <= MAX_MERGED),
        "rate_per_second": {"received": Line("received", seconds, received / lengths)},
        "lost": {"lost": Line("lost", seconds, lost)},
    }


def _latencies(windows: list[list[_Row]], seconds: Any, *, merge: bool) -> dict[str, Line]:
    several = max(map(len, windows)) > 1
    found = {}
    for name, share in _SHARES.items():
        values = [
            _merged(rows, share) if merge and several else _slowest(rows, f"{name}_ns") for rows in windows
        ]
        said = name if merge or not several else f"{name} of the slowest path"
        found[said] = Line(said, seconds, np.array(values, float))
    return found


def _slowest(rows: list[_Row], column: str) -> float:
    return max((row[column] for row in rows if row[column] is not None), default=float("nan"))


def _merged(rows: list[_Row], share: tuple[int, int]) -> float:
    merged = Histogram()
    for row in rows:
        try:
            found: WindowRow = decode_window((row["row"] or "").encode())
        except ValueError:
            continue  # one of another version among them
        if found["response"] is not None:
            merged.add(decode(found["response"]["hdr"]))
    over, of = share
    if merged.count * over < of:
        return float("nan")
    return float(merged.percentiles([share])[0])
