"""Final rows as a report needs them: each window in its last revision, its histogram decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.untrusted_text import matches
from collectors.contract.window_rows import WindowRow, decode_window
from deploy.report.model import Figures
from streaming.exporter.row_checks import faults
from streaming.exporter.window_verdict import not_taken_ns, stood_still, unsent
from streaming.histogram import Histogram, decode

# All that a report reads of a row: there may be many of them.
_KEPT: Final = (
    *("path", "window_start_ns", "window_ns", "rules", "revision", "sent", "classes", "unsent"),
    *("response", "outage_ns", "stalled_ns", "routes"),
)
_SHARES: Final = {"50": (1, 2), "99": (1, 100)}


@dataclass(frozen=True, slots=True)
class Window:
    """A window: of its row, what is kept."""

    row: WindowRow

    @property
    def path(self) -> str:
        return self.row["path"]

    @property
    def start_ns(self) -> int:
        return self.row["window_start_ns"]

    @property
    def end_ns(self) -> int:
        return self.row["window_start_ns"] + self.row["window_ns"]

    @property
    def latencies(self) -> Histogram:
        response = self.row["response"]
        return decode(response["hdr"]) if response else Histogram()

    @property
    def down_ns(self) -> int:
        """For how long nothing was delivered, or nothing taken that was due."""
        row = self.row
        if not row["classes"].get("received", 0) and (row["classes"].get("lost", 0) or unsent(row)):
            return row["window_ns"]
        return min(row["window_ns"], row["outage_ns"] + not_taken_ns(row))


@dataclass(slots=True)
class Windows:
    """Takes rows in any order, whatever they hold; keeps those of windows that start in [from, to).

    With patterns of `paths` only those of paths that match one.
    """

    from_ns: int
    to_ns: int
    left_out: Counter[str] = field(default_factory=Counter)
    paths: Sequence[str] = ()
    _newest: dict[tuple[str, str, int, int], Window] = field(default_factory=dict)

    def add(self, data: bytes) -> None:
        """Take a row as it was written; one that is none is counted."""
        try:
            row = decode_window(data)
            wrong = faults(row)
        except (ValueError, TypeError, KeyError):
            self.left_out["rows that are none"] += 1
            return
        if wrong:
            self.left_out["rows whose figures do not add up"] += 1
            return
        if not self.from_ns <= row["window_start_ns"] < self.to_ns:
            return
        if self.paths and not matches(row["path"], self.paths):
            return
        key = row["path"], row["rules"], row["window_start_ns"], row["window_ns"]
        known = self._newest.get(key)
        if known is None or known.row["revision"] < row["revision"]:
            self._newest[key] = Window(_slim(row))

    def __len__(self) -> int:
        return len(self._newest)

    def by_path(self) -> dict[str, list[Window]]:
        """Return each path's windows in order; where rules changed, those of the newer ones are taken."""
        found: dict[str, list[Window]] = {}
        in_order = sorted(self._newest, key=lambda key: key[2])
        newest_rules = {path: rules for path, rules, _, _ in in_order}
        rest: list[Window] = []
        for path, rules, start_ns, length_ns in in_order:
            window = self._newest[path, rules, start_ns, length_ns]
            if rules == newest_rules[path]:
                found.setdefault(path, []).append(window)
            else:
                rest.append(window)
        for window in rest:
            if not any(_overlap(window, other) for other in found[window.path]):
                found[window.path].append(window)
        return {
            path: sorted(windows, key=lambda each: each.start_ns) for path, windows in sorted(found.items())
        }


def _slim(row: WindowRow) -> WindowRow:
    slim: Any = {name: row[name] for name in _KEPT}
    response = row["response"]
    slim["response"] = response and {"max_ns": response["max_ns"], "hdr": response["hdr"]}
    kept: WindowRow = slim
    return kept


def figures(by_path: Iterable[Sequence[Window]]) -> Figures | None:
    """Return what these windows say together, given by path; None where there are none.

    Percentiles are those of all messages, from merged histograms: never an average of percentiles.
    """
    paths = [windows for windows in by_path if windows]
    every = [window for windows in paths for window in windows]
    if not every:
        return None
    merged = merge(every)
    maxima = [row["response"]["max_ns"] for row in (w.row for w in every) if row["response"]]
    routes: Counter[str] = Counter()
    for window in every:
        routes.update(window.row["routes"])
    return Figures(
        windows=len(every),
        covered_ns=max(sum(window.row["window_ns"] for window in windows) for windows in paths),
        sent=sum(window.row["sent"] for window in every),
        received=_in_class(every, "received"),
        refused=_in_class(every, "refused"),
        lost=_in_class(every, "lost"),
        unobserved=_in_class(every, "unobserved"),
        unsent=sum(unsent(window.row) for window in every),
        stood_still=sum(stood_still(window.row) for window in every),
        down_ns=max(sum(window.down_ns for window in windows) for windows in paths),
        p50_ns=percentile(merged, "50"),
        p99_ns=percentile(merged, "99"),
        max_ns=max(maxima, default=None),
        routes=dict(routes.most_common()),
    )


def merge(windows: Iterable[Window]) -> Histogram:
    merged = Histogram()
    for window in windows:
        merged.add(window.latencies)
    return merged


def percentile(latencies: Histogram, name: str) -> int | None:
    """Return it as rows have it: only where one message or more is above."""
    over, of = _SHARES[name]
    if latencies.count * over < of:
        return None
    return latencies.percentiles([_SHARES[name]])[0]


def _in_class(windows: Iterable[Window], name: str) -> int:
    return sum(window.row["classes"].get(name, 0) for window in windows)  # type: ignore[call-overload] # one of CLASSES


def _overlap(one: Window, other: Window) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns
