"""Archived rows as text: CSV, and the log of HdrHistogram that its tools read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from collectors.contract.window_rows import CLASSES

Basis = Literal["response", "service"]

CSV_COLUMNS: Final = (
    *("path", "mesh", "window_start", "window_seconds", "revision", "complete"),
    *("sent", *CLASSES),
    *("p50_seconds", "p90_seconds", "p95_seconds", "p99_seconds", "p99.9_seconds", "max_seconds"),
)
_PERCENTILES: Final = ("50", "90", "95", "99", "99.9")


def moment(time_ns: int) -> str:
    """Returns it in UTC, to the second: windows start at whole ones."""
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_csv(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields lines, the first one of names; latencies are of response, empty if nothing was received."""
    yield _line(CSV_COLUMNS)
    for row in rows:
        response = json.loads(row["row"])["response"] or {}
        percentiles = response.get("percentiles", {})
        yield _line(
            [
                *(row["path"], row["mesh"], moment(row["window_start_ns"]), row["window_ns"] / 1e9),
                *(row["revision"], str(row["complete"]).lower()),
                *(row["sent"], *(row[name] for name in CLASSES)),
                *(_seconds(percentiles.get(name)) for name in _PERCENTILES),
                _seconds(response.get("max_ns")),
            ]
        )


def as_hlog(rows: Iterable[Mapping[str, Any]], basis: Basis = "response") -> Iterator[str]:
    """Yields a line for each window that received something, tagged by path; values are ns, maxima ms."""
    ordered = sorted(rows, key=lambda row: (row["window_start_ns"], row["path"]))
    yield "#[Inflight's archive]\n"
    yield "#[Histogram log format version 1.3]\n"
    if ordered:
        start = ordered[0]["window_start_ns"] / 1e9
        yield f"#[StartTime: {start:.3f} (seconds since epoch), {moment(ordered[0]['window_start_ns'])}]\n"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    for row in ordered:
        latency = json.loads(row["row"])[basis]
        if latency is None:
            continue
        tag = row["path"].translate(_NO_TAG)
        times = (
            f"{row['window_start_ns'] / 1e9:.3f},{row['window_ns'] / 1e9:.3f},{latency['max_ns'] / 1e6:.3f}"
        )
        yield f"Tag={tag},{times},{latency['hdr']}\n"


_NO_TAG: Final = {ord(char): "_" for char in ", \t\r\n"}  # what a tag may not hold


def _seconds(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e9:.9f}"


def _line(values: Iterable[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()
