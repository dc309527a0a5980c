"""Figures of a run from its rows of windows: counts, rates, latencies, and their course over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from collectors.contract.window_rows import Latency, WindowRow
from streaming.histogram import Histogram
from streaming.histogram import decode as decode_histogram

_SECOND_NS: Final = 1_000_000_000
_SHARES: Final = {"p50": (1, 2), "p90": (1, 10), "p99": (1, 100), "p999": (1, 1000)}


class _Latencies:
    """Latencies of many windows, put together exactly."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.count = self.sum_ns = self.max_ns = 0

    def add(self, part: Latency | None) -> None:
        if part is None:
            return
        self.histogram.add(decode_histogram(part["hdr"]))
        self.count += part["count"]
        self.sum_ns += part["count"] * part["mean_ns"]
        self.max_ns = max(self.max_ns, part["max_ns"])

    def of(self, name: str) -> int | None:
        """Returns a percentile, where there are enough messages for it."""
        over, total = _SHARES[name]
        if self.count * over < total:
            return None
        return min(self.histogram.percentiles([(over, total)])[0], self.max_ns)


class _Window:
    """What a second or more of all the paths was, for the series."""

    def __init__(self) -> None:
        self.response = _Latencies()
        self.due = self.sent = self.received = self.lost = 0


class Figures:
    """Of one path, or of several: add their rows in any order, each window once."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._response, self._service = _Latencies(), _Latencies()
        self._windows: defaultdict[int, _Window] = defaultdict(_Window)
        self._window_ns = _SECOND_NS

    def add(self, row: WindowRow) -> None:
        self._window_ns = row["window_ns"]
        for name, count in row["classes"].items():
            self._counts[name] += count
        self._counts["sent"] += row["sent"]
        self._counts["unsent"] += sum(row["unsent"].values())
        self._response.add(row["response"])
        self._service.add(row["service"])
        window = self._windows[row["window_start_ns"]]
        window.response.add(row["response"])
        window.due += row["due"]
        window.sent += row["sent"]
        window.received += row["classes"]["received"]
        window.lost += row["classes"]["lost"]

    def _whole(self) -> list[_Window]:
        """Returns the windows that rates are of: without the first and the last one that were sent in.

        The begin and the end of sending cut these; all count where there are no others.
        """
        busy = [start for start in sorted(self._windows) if self._windows[start].sent]
        first, last = (busy[1], busy[-2]) if len(busy) > 2 else (busy[0], busy[-1]) if busy else (1, 0)  # noqa: PLR2004
        return [window for start, window in self._windows.items() if first <= start <= last]

    def as_json(self, *, unbounded: bool) -> dict[str, Any]:
        """Returns them; `unbounded`: no rate was asked for."""
        counts, response, service = self._counts, self._response, self._service
        windows = [self._windows[start] for start in sorted(self._windows)]
        whole = self._whole()
        seconds = len(whole) * self._window_ns / _SECOND_NS
        judged = counts["lost"] + counts["received"] + counts["refused"]
        return {
            **{n: counts[n] for n in ("sent", "received", "refused", "lost", "unobserved", "unsent")},
            "asked_per_second": None if unbounded or not whole else sum(w.due for w in whole) / seconds,
            "rate_per_second": sum(w.received for w in whole) / seconds if whole else 0.0,
            "lost_share": counts["lost"] / judged if judged else 0.0,
            "windows": len(windows),
            **{f"{name}_ns": response.of(name) for name in _SHARES},
            "max_ns": response.max_ns if response.count else None,
            "mean_ns": round(response.sum_ns / response.count) if response.count else None,
            "service_p50_ns": service.of("p50"),
            "service_p99_ns": service.of("p99"),
            "series": {
                "window_seconds": self._window_ns / _SECOND_NS,
                "p50_ns": [window.response.of("p50") for window in windows],
                "p99_ns": [window.response.of("p99") for window in windows],
                "received": [window.received for window in windows],
                "lost": [window.lost for window in windows],
            },
        }


def figures_of(
    rows: Iterable[WindowRow], unbounded: frozenset[str] = frozenset()
) -> dict[str, dict[str, Any]]:
    """Returns the figures of each path, and of `all`; `unbounded` are the paths without a rate."""
    found: defaultdict[str, Figures] = defaultdict(Figures)
    whole = Figures()
    for row in rows:
        found[row["path"]].add(row)
        whole.add(row)
    figures = {name: found[name].as_json(unbounded=name in unbounded) for name in sorted(found)}
    return {"all": whole.as_json(unbounded=not unbounded.isdisjoint(found)), **figures}
