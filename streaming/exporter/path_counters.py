"""One path's counters, made of final rows: exact whatever is repeated, replayed or revised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from collectors.contract.metrics import LATENCY_BUCKETS_SECONDS
from collectors.contract.records import UNSENT_REASONS
from collectors.contract.window_rows import CLASSES, Latency, WindowRow
from streaming.exporter.decoded_histogram import cumulative
from streaming.exporter.error_budget import ErrorBudget
from streaming.exporter.moves import MOVES, RARE_MOVES, moves_between
from streaming.exporter.objectives import Objective

Result = Literal["used", "repeat", "old"]
BASES: Final = ("response", "service")
BUCKETS_NS: Final = tuple(round(bound * 1e9) for bound in LATENCY_BUCKETS_SECONDS)
_KNOWN_MOVES: Final = frozenset((*MOVES, *RARE_MOVES))
PLAIN: Final = (
    *("sent", "late", "duplicate", "redelivered", "reordered", "foreign", "unexpected", "negative"),
    *("sent_bytes", "received_bytes", "outage_ns"),
)


class Epoch(NamedTuple):
    """From this window on the path was counted under these rules; revisions made by others are left out."""

    from_ns: int
    rules: str
    window_ns: int


class Revised(NamedTuple):
    """The newest revision seen of a window."""

    revision: int
    moves: Mapping[str, int]
    late: int


@dataclass(slots=True)
class Histogram:
    """How many latencies are at or below each bound of the catalogue, how many there are, and their sum."""

    at_or_below: list[int] = field(default_factory=lambda: [0] * len(BUCKETS_NS))
    count: int = 0
    sum_ns: int = 0


def zeros() -> dict[str, int]:
    """Return all counters at 0: the first loss has to be an increase of something."""
    keys = [
        *PLAIN,
        *(f"class.{name}" for name in CLASSES),
        *(f"unsent.{name}" for name in UNSENT_REASONS),
        *(f"moved.{name}" for name in MOVES),
        *("windows.complete", "windows.incomplete"),
    ]
    return dict.fromkeys(keys, 0)


@dataclass(slots=True)
class PathCounters:
    """A path's counters, and which rows they have counted.

    Revision 0 comes in window order: rows below a high-water mark are repeats. Later revisions are known by
    their number, for as long as they may come: `keep_ns` of send time.
    """

    keep_ns: int
    bases: tuple[str, ...] = BASES  # of which histograms are counted
    counts: dict[str, int] = field(default_factory=zeros)
    histograms: dict[str, Histogram] = field(default_factory=lambda: {basis: Histogram() for basis in BASES})
    since_ns: int | None = None
    high_ns: int | None = None  # the end of the newest window counted
    epochs: list[Epoch] = field(default_factory=list)
    revised: dict[int, Revised] = field(default_factory=dict)  # by window start
    budgets: dict[str, ErrorBudget] = field(default_factory=dict)  # by objective
    # Of the window counted last: how many were received after the bound, by objective with one.
    missed: tuple[int, ...] = ()

    def apply(self, row: WindowRow, objectives: Sequence[Objective], *, maintenance: bool) -> Result:
        """Count a row once; in maintenance its messages do not count for objectives."""
        if row["revision"] == 0:
            return self._count(row, objectives, maintenance=maintenance)
        return self._revise(row)

    def messages_in_class(self, name: str) -> int:
        """Return how many messages are in a class now: as counted first, with what revisions moved."""
        moved = {key.removeprefix("moved."): n for key, n in self.counts.items() if key.startswith("moved.")}
        came = sum(n for move, n in moved.items() if move.endswith(f">{name}"))
        went = sum(n for move, n in moved.items() if move.startswith(f"{name}>"))
        return self.counts[f"class.{name}"] + came - went

    def _count(self, row: WindowRow, objectives: Sequence[Objective], *, maintenance: bool) -> Result:
        start_ns = row["window_start_ns"]
        if self.high_ns is not None and start_ns < self.high_ns:
            return "repeat"
        slos = [slo for slo in objectives if slo.bound_ns is not None]
        bounds_ns = [*BUCKETS_NS, *(slo.bound_ns for slo in slos if slo.bound_ns is not None)]
        # Histograms are decoded before anything is counted: a row is counted whole or not at all.
        latencies = {"response": row["response"], "service": row["service"]}
        below = {basis: _below(latencies[basis], bounds_ns) for basis in self.bases}
        if self.since_ns is None:
            self.since_ns = start_ns
        self.high_ns = start_ns + row["window_ns"]
        self._note_rules(row)
        counts = self.counts
        for name in PLAIN:
            counts[name] += row[name]
        for name in CLASSES:
            counts[f"class.{name}"] += row["classes"].get(name, 0)
        for reason, unsent in row["unsent"].items():
            if reason in UNSENT_REASONS:  # any other is a fault of the accounting
                _add(counts, f"unsent.{reason}", unsent)
        counts["windows.complete" if row["complete"] else "windows.incomplete"] += 1
        for basis in self.bases:
            self._observe(basis, latencies[basis], below[basis])
        within_bounds = below["response"][len(BUCKETS_NS) :]
        received = latencies["response"]["count"] if latencies["response"] else 0
        self.missed = tuple(received - within for within in within_bounds)
        if not maintenance:
            within = dict(zip((s.name for s in slos), within_bounds, strict=True))
            for slo in objectives:
                self._count_objective(row, slo, within.get(slo.name, row["classes"].get("received", 0)))
        self._forget()
        return "used"

    def _count_objective(self, row: WindowRow, slo: Objective, good: int) -> None:
        counts, start_ns = self.counts, row["window_start_ns"]
        total_key, good_key = f"slo.{slo.name}.total", f"slo.{slo.name}.good"
        total_before, good_before = counts.get(total_key, 0), counts.get(good_key, 0)
        counts[total_key] = total_before + row["sent"] - row["classes"].get("unobserved", 0)
        counts[good_key] = good_before + good
        budget = self.budgets.get(slo.name)
        if budget is None:
            budget = self.budgets[slo.name] = ErrorBudget()
        budget.begin(start_ns, total_before, good_before)
        budget.end(start_ns, counts[total_key], counts[good_key], slo.ratio)

    def _observe(self, basis: str, latency: Latency | None, below: Sequence[int]) -> None:
        if latency is None:
            return
        total = self.histograms[basis]
        total.at_or_below = [a + b for a, b in zip(total.at_or_below, below, strict=False)]
        total.count += latency["count"]
        # Negative latencies count as 0 in the histogram; a sum that falls would look like a restart.
        total.sum_ns += max(0, latency["mean_ns"] * latency["count"])

    def _revise(self, row: WindowRow) -> Result:
        start_ns = row["window_start_ns"]
        if self.since_ns is None or self.high_ns is None or not self._counted(row):
            return "old"
        if start_ns < self.high_ns - self.keep_ns:
            return "repeat"
        before = self.revised.get(start_ns, Revised(0, {}, 0))
        if row["revision"] <= before.revision:
            return "repeat"
        moves = {move: count for move, count in row["moves"].items() if move in _KNOWN_MOVES}
        for move, count in moves_between(before.moves, moves).items():
            _add(self.counts, f"moved.{move}", count)
        # What is late comes after revision 0 by its nature.
        _add(self.counts, "late", max(0, row["late"] - before.late))
        self.revised[start_ns] = Revised(row["revision"], moves, row["late"])
        return "used"

    def _counted(self, row: WindowRow) -> bool:
        """Return whether the counters have this window's revision 0, made by the same rules."""
        start_ns = row["window_start_ns"]
        if self.since_ns is None or self.high_ns is None or not self.since_ns <= start_ns < self.high_ns:
            return False
        epoch = next((e for e in reversed(self.epochs) if e.from_ns <= start_ns), None)
        if epoch is None or (epoch.rules, epoch.window_ns) != (row["rules"], row["window_ns"]):
            return False
        return (start_ns - epoch.from_ns) % epoch.window_ns == 0

    def _note_rules(self, row: WindowRow) -> None:
        if not self.epochs or self.epochs[-1][1:] != (row["rules"], row["window_ns"]):
            self.epochs.append(Epoch(row["window_start_ns"], row["rules"], row["window_ns"]))

    def _forget(self) -> None:
        if self.high_ns is None:
            return
        oldest_ns = self.high_ns - self.keep_ns
        for start_ns in [s for s in self.revised if s < oldest_ns]:
            del self.revised[start_ns]
        while len(self.epochs) > 1 and self.epochs[1].from_ns <= oldest_ns:
            del self.epochs[0]


def _below(latency: Latency | None, bounds_ns: Sequence[int]) -> list[int]:
    if latency is None or not latency["count"]:
        return [0] * len(bounds_ns)
    return cumulative(latency["hdr"]).at_or_below(bounds_ns)


def _add(counts: dict[str, int], key: str, value: int) -> None:
    counts[key] = counts.get(key, 0) + value
