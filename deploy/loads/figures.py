"""The figures of a run: sums and merged histograms of the accounting's own windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from collectors.contract.window_rows import CLASSES, Latency, WindowRow
from deploy.ping.figures import Latencies, merged
from streaming.histogram import Histogram, decode, index

ALL: Final = "all"  # the name of all paths together, which no path has
_SECOND_NS: Final = 1_000_000_000
_ENDS: Final = 2  # windows that begin and end of sending leave half full
_PERCENTILES: Final = {"p50_ns": "50", "p90_ns": "90", "p99_ns": "99", "p999_ns": "99.9"}
_SERVICE: Final = {"service_p50_ns": "50", "service_p99_ns": "99"}


def within(rows: Iterable[WindowRow], spans: Sequence[tuple[int, int]]) -> list[WindowRow]:
    """Return the windows that lie wholly in one of these times."""
    return [
        row
        for row in rows
        if any(
            row["window_start_ns"] >= from_ns and row["window_start_ns"] + row["window_ns"] <= to_ns
            for from_ns, to_ns in spans
        )
    ]


def of_paths(
    rows: Mapping[str, Sequence[WindowRow]], unbounded: Iterable[str] = (), *, counted: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the figures of each path and of all together; `unbounded` are those with no rate.

    Of what was `counted` the first window and the last one that were sent in are not full: rates are of
    those between.
    """
    free = set(unbounded)
    found = {name: _of(windows, free=name in free, counted=counted) for name, windows in rows.items()}
    together = sorted((row for windows in rows.values() for row in windows), key=_start)
    return {ALL: _of(together, free=bool(free & rows.keys()), counted=counted), **found}


def figures_of(
    rows: Iterable[WindowRow], unbounded: frozenset[str] = frozenset()
) -> dict[str, dict[str, Any]]:
    """Return the same of rows in any order, each window once, where all that was sent is counted."""
    by_path: dict[str, list[WindowRow]] = {}
    for row in rows:
        by_path.setdefault(row["path"], []).append(row)
    return of_paths({name: by_path[name] for name in sorted(by_path)}, unbounded, counted=True)


def in_time(row: WindowRow, within_ns: int | None) -> int:
    """Return how many messages of a window came, or came within this time of when they were due."""
    if within_ns is None:
        return row["classes"]["received"]
    if row["response"] is None:
        return 0
    buckets, counts = decode(row["response"]["hdr"]).pairs()
    return int(counts[buckets <= index(within_ns)].sum())


def _start(row: WindowRow) -> int:
    return row["window_start_ns"]


def _of(rows: Sequence[WindowRow], *, free: bool, counted: bool) -> dict[str, Any]:
    classes: dict[str, int] = {name: sum(row["classes"][name] for row in rows) for name in CLASSES}
    by_time = _by_time(rows)
    full = _full(by_time) if counted else by_time
    seconds = sum(windows[0]["window_ns"] for windows in full) / _SECOND_NS
    due = sum(row["due"] for windows in full for row in windows)
    received = sum(row["classes"]["received"] for windows in full for row in windows)
    response, service = (_latencies(rows, basis) for basis in ("response", "service"))
    decided = classes["lost"] + classes["received"] + classes["refused"]
    return {
        "sent": sum(row["sent"] for row in rows),
        **classes,
        "unsent": sum(sum(row["unsent"].values()) for row in rows),
        "asked_per_second": None if free or not seconds else due / seconds,
        "rate_per_second": received / seconds if seconds else 0.0,
        "lost_share": classes["lost"] / decided if decided else None,
        "windows": len(by_time),
        **{name: _percentile(response, of) for name, of in _PERCENTILES.items()},
        "max_ns": response["max_ns"] if response else None,
        "mean_ns": response["mean_ns"] if response else None,
        **{name: _percentile(service, of) for name, of in _SERVICE.items()},
        "service_mean_ns": service["mean_ns"] if service else None,
        "series": _series(by_time),
    }


def _by_time(rows: Sequence[WindowRow]) -> list[list[WindowRow]]:
    """Return the windows of all paths that began at the same time together, in order."""
    found: dict[int, list[WindowRow]] = {}
    for row in rows:
        found.setdefault(row["window_start_ns"], []).append(row)
    return [found[start] for start in sorted(found)]


def _full(by_time: list[list[WindowRow]]) -> list[list[WindowRow]]:
    """Return the windows between the first and the last one that were sent in, or all of these if few."""
    busy = [at for at, windows in enumerate(by_time) if any(row["sent"] for row in windows)]
    if not busy:
        return []
    cut = 1 if len(busy) > _ENDS else 0
    return by_time[busy[cut] : busy[-1 - cut] + 1]


def _series(by_time: Sequence[Sequence[WindowRow]]) -> dict[str, Any]:
    latencies = [_latencies(windows, "response") for windows in by_time]
    return {
        "window_seconds": by_time[0][0]["window_ns"] / _SECOND_NS if by_time else None,
        "p50_ns": [_percentile(one, "50") for one in latencies],
        "p99_ns": [_percentile(one, "99") for one in latencies],
        **{
            name: [sum(row["classes"][name] for row in windows) for windows in by_time]
            for name in ("received", "lost")
        },
    }


def _latencies(rows: Sequence[WindowRow], basis: str) -> Latencies | None:
    parts: list[Latency] = [row[basis] for row in rows if row[basis] is not None]  # type: ignore[literal-required]  # response or service
    if not parts:
        return None
    histogram = Histogram()
    for part in parts:
        histogram.add(decode(part["hdr"]))
    return merged(histogram, parts)


def _percentile(found: Latencies | None, name: str) -> int | None:
    """Return it, where there are messages enough for it to mean something."""
    return found["percentiles"].get(name) if found else None
