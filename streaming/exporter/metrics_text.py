"""Paths in Prometheus' text format.

Written here and not by prometheus-client's collectors because of its cost: the families of 1,000 paths are
70,000 lines, and a cached piece of text for each path makes a scrape several times cheaper (tests/bench).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from collectors.contract.metrics import LATENCY_BUCKETS_SECONDS, quote
from streaming.exporter.families import FAMILIES, SAMPLES
from streaming.exporter.path import Path
from streaming.exporter.path_counters import Histogram


def chunks(path: Path, *, service: bool) -> list[str]:
    """The path's lines, a text for each of `FAMILIES`."""
    here = f'{{mesh="{quote(path.labels.mesh)}",path="{quote(path.name)}"'
    return [
        "".join([f"{start}{here}{extra}}} {value!r}\n" for extra, value in samples(path)])
        if metric.kind != "histogram"
        else _histogram(start, here, path, service=service)
        for metric, start, samples in _TABLE
    ]


def join(pieces: Sequence[Sequence[str]], extra: Iterable[str] = ()) -> str:
    """All paths' chunks as one exposition, with other families' text behind it."""
    whole: list[str] = []
    for index, head in enumerate(_HEADS):
        lines = [chunk for piece in pieces if (chunk := piece[index])]
        if lines:
            whole.append(head)
            whole += lines
    whole += extra
    return "".join(whole)


def _histogram(start: str, here: str, path: Path, *, service: bool) -> str:
    basis = "service" if "service" in start else "response"
    if basis == "service" and not service:
        return ""
    total: Histogram = path.counters.histograms[basis]
    lines = [
        f'{start}_bucket{here},le="{bound!r}"}} {n}\n'
        for bound, n in zip(LATENCY_BUCKETS_SECONDS, total.at_or_below, strict=True)
    ]
    lines += [
        f'{start}_bucket{here},le="+Inf"}} {total.count}\n',
        f"{start}_sum{here}}} {total.sum_ns / 1e9!r}\n",
        f"{start}_count{here}}} {total.count}\n",
    ]
    return "".join(lines)


_TABLE: Final = tuple((metric, metric.full_name, SAMPLES[metric.name]) for metric in FAMILIES)
_HEADS: Final = tuple(metric.head for metric in FAMILIES)
