"""Jitter at what is done to a network: of each path the largest one after each action."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from collectors.config.paths import Path
from collectors.contract.records import Record
from deploy.actions.performance import Done
from streaming.analysis import jitter

_SECOND_NS: Final = 1_000_000_000
MOST: Final = 5_000_000  # messages of a run
Columns = NDArray[np.int64]


def refused(path: Path) -> str | None:
    """Return why there is no jitter of a path, or None."""
    constant = len(path.rate) == 1 and 0 < path.rate[0].start == path.rate[0].end
    if not constant or path.arrivals != "constant" or path.senders > 1 or path.receivers > 1:
        return "is of a period: a path of one sender and one receiver, at a constant rate"
    return None


class Arrivals:
    """When each message was due and came, of all paths of a run."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[Columns, Columns, Columns]]] = {}
        self._count = 0

    def take(self, record: Record) -> None:
        """Raise ValueError when there are too many."""
        rows = record.received
        if rows is None or not rows.size:
            return
        self._count += rows.size
        if self._count > MOST:
            raise ValueError(f"jitter of over {MOST:,} messages: make the run shorter, or the rate lower")
        columns = rows.seq, rows.intended_ns, rows.received_ns
        self._found.setdefault(record.header.path, []).append(columns)

    def of(self, path: str, from_ns: int, to_ns: int) -> tuple[Columns, Columns]:
        """Return numbers and arrivals of the messages due in that time, each as it came first."""
        parts = self._found.get(path, [])
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        numbers, due_ns, came_ns = (np.concatenate(column) for column in zip(*parts, strict=True))
        within = (due_ns >= from_ns) & (due_ns < to_ns)
        numbers, came_ns = numbers[within], came_ns[within]
        order = np.lexsort((came_ns, numbers))
        numbers, came_ns = numbers[order], came_ns[order]
        first = np.diff(numbers, prepend=-1) > 0
        return numbers[first], came_ns[first]


def peaks(arrivals: Arrivals, paths: Iterable[Path], done: Sequence[Done], to_ns: int) -> dict[str, Any]:
    """Return of each path the largest jitter after each action, until the next one began."""
    began = [one.began_ns for one in done if one.began_ns is not None]
    ends = [*began[1:], to_ns]
    found: dict[str, Any] = {}
    for path in paths:
        period_ns = round(_SECOND_NS / path.rate[0].start)
        each = []
        for from_ns, until_ns in zip(began, ends, strict=True):
            # With the message before: from it the first one's jitter is counted.
            numbers, came_ns = arrivals.of(path.name, from_ns - period_ns, until_ns)
            if len(numbers) > 1:
                peak = jitter.largest(numbers.tolist(), came_ns.tolist(), period_ns)
                each.append({"began_ns": from_ns, **peak._asdict()})
        found[path.name] = {"period_ns": period_ns, "peaks": each, **_spread(each, period_ns)}
    return found


def over_runs(summaries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return of each combination of levels and each path how the largest jitter is spread over all runs."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for summary in summaries:
        for path, of in summary.get("jitter", {}).items():
            cell = cells.setdefault(
                (str(summary["levels"]), path),
                {"levels": summary["levels"], "path": path, "period_ns": of["period_ns"], "peaks": []},
            )
            cell["peaks"] += of["peaks"]
    return [
        {
            **{name: cell[name] for name in ("levels", "path", "period_ns")},
            **_spread(cell["peaks"], cell["period_ns"]),
        }
        for cell in cells.values()
    ]


def _spread(each: Sequence[Mapping[str, Any]], period_ns: int) -> dict[str, Any]:
    if not each:
        return {"distribution": None}
    fields = jitter.Peak._fields
    found = [jitter.Peak(*(one[name] for name in fields)) for one in each]
    return {"distribution": jitter.over_repetitions(found, period_ns).as_json()}
