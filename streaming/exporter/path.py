"""What the exporter knows of one path: its counters, and the newest rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from collectors.contract.window_rows import CLASSES, Class, Latency, LiveEnd, LiveRow, Named, WindowRow
from streaming.exporter.decoded_histogram import cumulative
from streaming.exporter.episodes import Episodes
from streaming.exporter.memory_bounds import weight
from streaming.exporter.objectives import Objective
from streaming.exporter.path_counters import PathCounters
from streaming.states import RECENT_SECONDS, Diagnosis

HISTORY: Final = 60  # windows that a sparkline shows
_BYTES: Final = 8_192  # of a path with counters, history and figures
_LINES: Final = 142  # its series, and each letter of a name may have to be escaped
RATE_OVER_NS: Final = 1_000_000_000  # the beginning of a window is too short to tell a rate


class Labels(NamedTuple):
    """The labels of `path_info`."""

    mesh: str
    address: str = ""
    source: str = ""
    target: str = ""
    via: str = ""
    settlement: str = ""


class Point(NamedTuple):
    """A final window in the history; None where too few messages came for a percentile."""

    end_ns: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    sent: int
    classes: Mapping[Class, int]
    missed: tuple[int, ...]  # received after the bound, by objective of latency


class RecentCounts(NamedTuple):
    """What the final windows of the last minute count together: the sums of `Point`'s fields."""

    classes: Mapping[Class, int]
    missed: tuple[int, ...]


@dataclass(slots=True)
class Path:
    """A path with everything that is shown of it; only `Exporter` changes it."""

    name: str
    labels: Labels
    configured: bool
    objectives: tuple[Objective, ...]
    counters: PathCounters
    window: WindowRow | None = None  # the newest final one, in its newest revision
    live: LiveRow | None = None
    seen_ns: int | None = None  # by the exporter's clock: when the last row came
    history: deque[Point] = field(default_factory=lambda: deque(maxlen=HISTORY))
    rate: float | None = None  # messages sent a second, lately
    chunks: list[str] | None = None  # rendered families, until a row comes
    diagnosis: Diagnosis | None = None  # until a row comes
    episodes: Episodes = field(default_factory=Episodes)
    _recent_counts: RecentCounts | None = None  # until a row of a window comes

    def touch(self, now_ns: int) -> None:
        """Take note of a row that came, and drop what was made of those before."""
        self.seen_ns = now_ns
        self.chunks = self.diagnosis = None

    def show(self, row: WindowRow) -> None:
        """Take a row that was counted: of a new window, or a revision of one that may still be shown."""
        bounds_ns = [slo.bound_ns for slo in self.objectives if slo.bound_ns is not None]
        missed = _missed(row["response"], bounds_ns) if row["revision"] else self.counters.missed
        point = _point(row, missed)
        self._recent_counts = None
        for index in reversed(range(len(self.history))):
            if self.history[index].end_ns == point.end_ns:
                self.history[index] = point
        if self.window is not None and row["window_start_ns"] < self.window["window_start_ns"]:
            return
        if not self.history or self.history[-1].end_ns < point.end_ns:
            self.history.append(point)
        self.window = slim_window(row)
        self.relabel(row)

    def show_live(self, row: LiveRow) -> None:
        """Take the newest live row; the last one wins."""
        self.live = slim_live(row)
        elapsed_ns = min(row["at_ns"] - row["window_start_ns"], row["window_ns"])
        if elapsed_ns >= RATE_OVER_NS:
            self.rate = row["sent"] * 1e9 / elapsed_ns
        self.relabel(row)

    def recent(self) -> list[Point]:
        """Return the final windows of the last minute that there is data of."""
        if not self.history:
            return []
        since_ns = self.history[-1].end_ns - RECENT_SECONDS * 10**9
        return [point for point in self.history if point.end_ns > since_ns]

    def recent_counts(self) -> RecentCounts:
        """Return what the recent windows count; it is kept until the next of them comes."""
        if self._recent_counts is None:
            points = self.recent()
            classes = {name: sum(point.classes.get(name, 0) for point in points) for name in CLASSES}
            missed = tuple(map(sum, zip(*(point.missed for point in points), strict=True)))
            self._recent_counts = RecentCounts(classes, missed)
        return self._recent_counts

    def weight(self, row: Named, routes: Mapping[str, int] | None = None) -> int:
        """Return about how many bytes it takes with this row; its series repeat its names in each line."""
        names = weight(row["path"]) + weight(row["mesh"])
        labels = weight([row["address"], row["source"], row["target"]])
        if routes is None:
            routes = self.window["routes"] if self.window else {}
        moves = [revised.moves for revised in self.counters.revised.values()]
        hops = sum(names + weight(key) for key in self.episodes.counted_keys())
        return _BYTES + _LINES * names + labels + weight(routes) + weight(moves) + 3 * hops

    def relabel(self, row: WindowRow | LiveRow) -> None:
        """Take addresses and end points from the data; `via` stays as configured."""
        settlement = "presettled" if row["presettled"] else "acknowledged"
        self.labels = Labels(
            row["mesh"], row["address"], row["source"], row["target"], self.labels.via, settlement
        )

    @property
    def last_received_ns(self) -> int | None:
        return self.live["last_received_ns"] if self.live else None

    @property
    def outage_ns(self) -> int:
        """For how long nothing was delivered, by the path's own time: a halted pipeline is no outage.

        Final windows tell it exactly, but a settle time later; until then the missing messages do.
        """
        live = self.live
        if live is None:
            return 0
        final_ns = 0 if live["outage_since_ns"] is None else live["at_ns"] - live["outage_since_ns"]
        receivers = [end["frontier_ns"] for end in live["ends"] if end["role"] == "receiver"]
        if not live["suspect"] or not receivers or live["oldest_pending_ns"] is None:
            return max(0, final_ns)
        since_ns = max(live["oldest_pending_ns"], live["last_received_ns"] or 0)
        return max(0, final_ns, min(receivers) - since_ns)


def slim_window(row: WindowRow) -> WindowRow:
    """Return the row without histograms and members, which are most of it and are not shown."""
    slim: WindowRow = {**row, "members": [], "slowest": None}
    for basis in ("response", "service"):
        latency = row["response"] if basis == "response" else row["service"]
        if latency is not None:
            slim[basis] = {**latency, "hdr": ""}
    return slim


def slim_live(row: LiveRow) -> LiveRow:
    """Return the row with one end for each role and link state, the one that is furthest behind."""
    kept: dict[tuple[str, str], LiveEnd] = {}
    for end in row["ends"]:
        key = end["role"], end["link"]
        if key not in kept or end["frontier_ns"] < kept[key]["frontier_ns"]:
            kept[key] = end
    return {**row, "ends": list(kept.values())}


def _point(row: WindowRow, missed: tuple[int, ...]) -> Point:
    response = row["response"]
    percentiles = response["percentiles"] if response else {}
    return Point(
        end_ns=row["window_start_ns"] + row["window_ns"],
        p50_ns=percentiles.get("50"),
        p99_ns=percentiles.get("99"),
        max_ns=response["max_ns"] if response else None,
        sent=row["sent"],
        classes=row["classes"],
        missed=missed,
    )


def _missed(response: Latency | None, bounds_ns: Sequence[int]) -> tuple[int, ...]:
    """Return how many were received after each bound."""
    if not bounds_ns or response is None or response["max_ns"] <= min(bounds_ns):
        return (0,) * len(bounds_ns)
    received = cumulative(response["hdr"])
    return tuple(received.total - within for within in received.at_or_below(bounds_ns))
