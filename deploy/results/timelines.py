"""A run over time, from the files in its folder: windows, seconds, and polls of routers and brokers."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectors.contract.untrusted_text import read_json
from dashboards.report.model import Line, Run, Timeline
from deploy.results import tables, windows
from deploy.results.tables import BadTable

_MAX_SECONDS: Final = 1_000_000
_MAX_NAMES: Final = 200
_RATES: Final = {"due": "asked", "sent": "sent", "received": "received"}

_Points = dict[str, list[tuple[float, float]]]


def timeline(folder: Path, run: Run, left_out: list[str]) -> Timeline:
    """Return what the folder of a run tells; of a file that cannot be used it is told why."""
    found: dict[str, dict[str, Line]] = defaultdict(dict)

    def take(name: str, read: Callable[[Path], Mapping[str, Mapping[str, Line]]]) -> None:
        file = folder / name
        if not file.exists():
            return
        try:
            for kind, lines in read(file).items():
                found[kind].update(lines)
        except (BadTable, OSError, ValueError) as error:
            left_out.append(f"run {run.number}: {name} is left out: {str(error)[:200]}")

    take("windows.parquet", lambda file: windows.lines(file, run.began_ns))
    take("rate.csv", lambda file: {"rate_per_second": _rates(file, run.began_ns)})
    for name in ("router.parquet", "broker.parquet"):
        take(name, lambda file: _polled(file, run.began_ns))
    take("memory.parquet", lambda file: _memory(file, run.began_ns))
    if not found["latency_ns"]:
        found |= _steady(run)
    return Timeline(**{kind: list(lines.values()) for kind, lines in found.items()})


def _steady(run: Run) -> dict[str, dict[str, Line]]:
    """Return what the summary has of the steady phase, where no windows are in the folder."""
    series = run.all.series if run.all is not None else None
    if series is None or series.window_seconds is None:
        return {}
    began = ((run.steady_from_ns or run.began_ns) - run.began_ns) / 1e9
    seconds = began + np.arange(len(series.received), dtype=np.float64) * series.window_seconds
    kinds = {"latency_ns": ("p50", "p99"), "lost": ("lost",)}
    found: dict[str, dict[str, Line]] = {kind: {} for kind in kinds}
    for kind, names in kinds.items():
        for name in names:
            values = np.array(getattr(series, f"{name}_ns" if kind == "latency_ns" else name), float)
            least = min(len(values), len(seconds))
            found[kind][name] = Line(name, seconds[:least], values[:least])
    return found


def _rates(file: Path, began_ns: int) -> dict[str, Line]:
    with file.open(encoding="utf-8", errors="replace", newline="") as lines:
        rows = [row for _, row in zip(range(_MAX_SECONDS), csv.DictReader(lines), strict=False)]
    if not rows:
        return {}
    missing = [name for name in ("second", *_RATES) if name not in rows[0]]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    seconds = np.array([float(row["second"]) for row in rows]) - began_ns / 1e9
    if not np.isfinite(seconds).all():
        raise ValueError("a second is no number")
    # The first and the last second are not whole ones: the run began and ended within them.
    return {
        name: Line(name, seconds[1:-1], np.array([float(row[column] or "nan") for row in rows])[1:-1])
        for column, name in _RATES.items()
    }


def _polled(file: Path, began_ns: int) -> dict[str, dict[str, Line]]:
    found: dict[str, _Points] = {kind: defaultdict(list) for kind in ("queued", "memory_bytes")}
    for target, entity, at_ns, row in _rows(file):
        told = _TOLD[entity](target, row)
        if told is None:
            continue
        kind, name, value = told
        points = found[kind]
        if name in points or len(points) < _MAX_NAMES:
            points[name].append(((at_ns - began_ns) / 1e9, value))
    return {
        kind: {name: _line(name, points) for name, points in lines.items()} for kind, lines in found.items()
    }


def _memory(file: Path, began_ns: int) -> dict[str, dict[str, Line]]:
    found: _Points = defaultdict(list)
    for batch in tables.batches(file, ["part", "at_ns", "resident_bytes"]):
        for row in batch.to_pylist():
            value = _number(row["resident_bytes"])
            if value and (row["part"] in found or len(found) < _MAX_NAMES):
                found[str(row["part"])].append(((row["at_ns"] - began_ns) / 1e9, value))
    return {"memory_bytes": {name: _line(name, points) for name, points in found.items()}}


def _line(name: str, points: list[tuple[float, float]]) -> Line:
    """Return the line of the points, those of one moment added up: parts of one poll."""
    at, place = np.unique([second for second, _ in points], return_inverse=True)
    values = np.zeros(len(at))
    np.add.at(values, place, [value for _, value in points])
    return Line(name, at, values)


def _rows(file: Path) -> Iterator[tuple[str, str, int, Mapping[str, Any]]]:
    """Yield the rows that have something to draw: whose, of what kind, when, and what they say."""
    for batch in tables.batches(file, ["target", "entity", "at_ns", "row"]):
        for found in batch.to_pylist():
            if found["entity"] not in _TOLD or found["at_ns"] is None:
                continue
            try:
                row = read_json((found["row"] or "").encode())
            except ValueError:
                continue  # cut short by whoever wrote it
            if isinstance(row, dict):
                yield str(found["target"]), found["entity"], found["at_ns"], row


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# What is drawn of a row: the plot, the line's name, the value.
_Told = tuple[str, str, float] | None


def _router(target: str, row: Mapping[str, Any]) -> _Told:
    value = _number(row.get("resident")) or _number(row.get("virtual"))
    return ("memory_bytes", target, value) if value else None


def _link(target: str, row: Mapping[str, Any]) -> _Told:
    value = _number(row.get("undelivered"))
    return None if value is None else ("queued", f"links of {target}", value)


def _queue(target: str, row: Mapping[str, Any]) -> _Told:
    value = _number(row.get("messages"))
    return None if value is None else ("queued", str(row.get("queue") or target), value)


def _jvm(target: str, row: Mapping[str, Any]) -> _Told:
    pools = row.get("pools")
    heap = pools.get("heap") if isinstance(pools, Mapping) else None
    value = _number(heap.get("used")) if isinstance(heap, Mapping) else None
    return ("memory_bytes", f"{target} (heap)", value) if value else None


_TOLD: Final[Mapping[str, Callable[[str, Mapping[str, Any]], _Told]]] = {
    "router": _router,
    "link": _link,
    "queue": _queue,
    "jvm": _jvm,
}
