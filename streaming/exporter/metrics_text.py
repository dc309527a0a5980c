"""Paths in Prometheus' text format.

Written here and not by prometheus-client's collectors because of its cost: the families of 1,000 paths are
70,000 lines, and a cached piece of text for each path makes a scrape several times cheaper (tests/bench).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from collectors.contract.metrics import LATENCY_BUCKETS_SECONDS
from collectors.http.metric_factory import head, histogram_lines, label_text
from streaming.exporter.families import FAMILIES, VALUES
from streaming.exporter.path import Path


def chunks(path: Path, *, service: bool) -> list[str]:
    """Return the path's lines, a text for each of `FAMILIES`."""
    labels = label_text("path_sent_messages_total", (path.labels.mesh, path.name))
    here = f"{{{labels}"
    return [
        "".join([f"{start}{here}{extra}}} {value!r}\n" for extra, value in values_of(path)])
        if metric.kind != "histogram"
        else _histogram(metric.name, labels, path, service=service)
        for metric, start, values_of in _TABLE
    ]


def join(pieces: Sequence[Sequence[str]], extra: Iterable[str] = ()) -> str:
    """Return all paths' chunks as one text, by family, with other families' text behind it."""
    whole: list[str] = []
    for index, first in enumerate(_HEADS):
        lines = [chunk for piece in pieces if (chunk := piece[index])]
        if lines:
            whole.append(first)
            whole += lines
    whole += extra
    return "".join(whole)


def _histogram(name: str, labels: str, path: Path, *, service: bool) -> str:
    basis = "service" if "service" in name else "response"
    if basis == "service" and not service:
        return ""
    total = path.counters.histograms[basis]
    buckets = [*zip(_BOUNDS, (*total.at_or_below, total.count), strict=True)]
    return histogram_lines(name, labels, buckets, total.sum_ns / 1e9)


_BOUNDS: Final = (*map(str, LATENCY_BUCKETS_SECONDS), "+Inf")
_TABLE: Final = tuple((metric, metric.full_name, VALUES[metric.name]) for metric in FAMILIES)
_HEADS: Final = tuple(head(metric.name) for metric in FAMILIES)
