"""Which of a path's episodes is meant, and whether anything is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.attribution_rows import AttributionRow

RECENT_NS: Final = 600 * 10**9  # without a time: what ended so long ago is still of now
NEAR_NS: Final = 60 * 10**9  # a time is often told to the minute

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a path: rows, and the newest final window at the time."""

    path: str
    now_ns: int
    rows: Sequence[AttributionRow]
    window: Json | None  # start_ns, length_ns, sent, classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The episode that is told, others of the same time, and the newest one before where there is none."""

    known: Known
    at_ns: int | None
    row: AttributionRow | None = None
    also: Sequence[AttributionRow] = field(default=())
    before: AttributionRow | None = None

    @property
    def wrong(self) -> bool:
        """Return whether anything is missing or slow at the time."""
        classes = (self.window or {}).get("classes", {})
        return self.row is not None or bool(classes.get("lost") or classes.get("refused"))

    @property
    def window(self) -> Json | None:
        """Return the newest window, if it is of the time."""
        window, at_ns = self.known.window, self.at_ns
        if window is None or at_ns is None:
            return window
        start_ns, end_ns = window["start_ns"], window["start_ns"] + window["length_ns"]
        return window if start_ns - NEAR_NS <= at_ns <= end_ns + NEAR_NS else None


def choose(known: Known, at_ns: int | None = None) -> Chosen:
    """Return the episode of a time, or of now; of several the one in which messages are missing."""
    telling = [row for row in known.rows if row["merged_into"] is None and (_missing(row) or _slow(row))]
    if at_ns is None:
        there = [r for r in telling if r["open"] or r["to_ns"] >= known.now_ns - RECENT_NS]
    else:
        there = _around(telling, at_ns, 0) or _around(telling, at_ns, NEAR_NS)
    there.sort(key=lambda row: (bool(_missing(row)), row["from_ns"]), reverse=True)
    if there:
        return Chosen(known=known, at_ns=at_ns, row=there[0], also=there[1:])
    end_ns = known.now_ns if at_ns is None else at_ns
    earlier = [row for row in telling if row["to_ns"] <= end_ns]
    before = max(earlier, key=lambda row: row["to_ns"], default=None)
    return Chosen(known=known, at_ns=at_ns, before=before)


def _around(rows: list[AttributionRow], at_ns: int, near_ns: int) -> list[AttributionRow]:
    return [row for row in rows if row["from_ns"] - near_ns <= at_ns <= row["to_ns"] + near_ns]


def _missing(row: AttributionRow) -> int:
    return row["lost"] + row["refused"] + row["suspect"]


def _slow(row: AttributionRow) -> bool:
    return row["kind"] == "slow"
