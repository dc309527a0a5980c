"""Which class each message of a window is in, by runs of sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import OUTCOMES, SECOND_NS
from collectors.contract.window_rows import CLASSES
from streaming.accounting import bounds
from streaming.accounting.number_runs import END, FIRST, FIRST_SENT, LAST_SENT
from streaming.accounting.window import Cell, Told, Window

Ints = NDArray[np.int64]

RECEIVED, REFUSED, LOST, UNOBSERVED = range(len(CLASSES))
NAMES: Final = dict(enumerate(CLASSES))
NONE: Final = "none"  # in moves: a number that was not known to be sent
REFUSALS: Final = ("rejected", "released", "modified")
LOSSES: Final = ("accepted", "presettled", "unsettled")
_NOTHING: Final[Ints] = np.empty((0, 3), np.int64)
_REFUSED_OUTCOME: Final = np.asarray([outcome in REFUSALS for outcome in OUTCOMES])


@dataclass(slots=True)
class Tally:
    """Counts of one window."""

    sent: int = 0
    classes: list[int] = field(default_factory=lambda: [0] * len(CLASSES))
    missing: dict[str, int] = field(default_factory=dict)  # refused and lost, by outcome
    received_though_refused: int = 0
    unexpected: int = 0
    lost_detached: int = 0
    lost_by_second: dict[int, int] = field(default_factory=dict)
    unledgered: bool = False  # numbers were received in a second of which there is no ledger


def tally(window: Window, blind_ns: int) -> Tally:
    """Count; seconds that begin before `blind_ns` were not wholly observed."""
    found = Tally()
    for cells in window.cells.values():
        for second in sorted(cells):
            cell = cells[second]
            if cell.told is None:
                _tally_untold(found, cell, _before(cells, second))
            else:
                _tally_told(found, cell, second, blind=second * SECOND_NS < blind_ns)
    return found


def _before(cells: dict[int, Cell], second: int) -> int:
    """Where a stream was before that second of the window, as far as the window's own records tell, or 0."""
    return max((covered_to(cell) for at, cell in cells.items() if at < second), default=0)


def covered_to(cell: Cell) -> int:
    """One more than the highest number known of a cell, or 0."""
    table = cell.runs.table
    high = int(table[-1, END]) if len(table) else 0
    if cell.told is not None and len(cell.told.first):
        high = max(high, int(cell.told.first[-1] + cell.told.length[-1]))
    return high


def segments(window: Window, blind_ns: int) -> dict[str, dict[int, Ints]]:
    """By stream and second: the classes of its numbers as disjoint rows (first, end, class), ascending."""
    found: dict[str, dict[int, Ints]] = {}
    for stream, cells in window.cells.items():
        found[stream] = {
            second: _segments(window, stream, second, blind=second * SECOND_NS < blind_ns)
            for second in sorted(cells)
        }
    return found


def _segments(window: Window, stream: str, second: int, *, blind: bool) -> Ints:
    cell = window.cells[stream][second]
    if cell.told is not None and (run := _all_arrived(cell, cell.told)):
        return np.asarray([[*run, RECEIVED]], np.int64)
    table = cell.runs.table[:, [FIRST, END]]
    received = np.column_stack((table, np.full(len(table), RECEIVED)))
    if cell.told is None:
        first, end = _expected(cell, _before(window.cells[stream], second))
        told = np.asarray([[first, end, UNOBSERVED]], np.int64)[: int(first < end)]
    else:
        kind = np.where(_REFUSED_OUTCOME[cell.told.outcome], REFUSED, UNOBSERVED if blind else LOST)
        told = np.column_stack((cell.told.first, cell.told.first + cell.told.length, kind))
    return _overlay(told, received)


def _all_arrived(cell: Cell, told: Told) -> tuple[int, int] | None:
    """The main road: one run was sent, and it arrived, and nothing else. Its first number, and its end."""
    table = cell.runs.table
    if len(table) != 1 or len(told.first) != 1:
        return None
    first, end = int(told.first[0]), int(told.first[0]) + told.sent
    return (first, end) if table[0, FIRST] == first and table[0, END] == end else None


def all_moves(before: dict[str, dict[int, Ints]], after: dict[str, dict[int, Ints]]) -> dict[str, int]:
    """How many numbers went from which class to which, over all streams and seconds."""
    total: dict[str, int] = {}
    for stream in sorted(before.keys() | after.keys()):
        was, now = before.get(stream, {}), after.get(stream, {})
        for second in sorted(was.keys() | now.keys()):
            for name, count in moves(was.get(second, _NOTHING), now.get(second, _NOTHING)).items():
                total[name] = total.get(name, 0) + count
    return total


def moves(before: Ints, after: Ints) -> dict[str, int]:
    """How many numbers went from which class to which."""
    edges = np.unique(np.concatenate((before[:, :2].ravel(), after[:, :2].ravel())))
    if len(edges) < 2:  # noqa: PLR2004 -- two edges make one stretch
        return {}
    was, now = _class_at(before, edges[:-1]), _class_at(after, edges[:-1])
    lengths = np.diff(edges)
    found: dict[str, int] = {}
    for stretch in np.flatnonzero(was != now):
        name = f"{NAMES.get(int(was[stretch]), NONE)}>{NAMES.get(int(now[stretch]), NONE)}"
        found[name] = found.get(name, 0) + int(lengths[stretch])
    return found


def _tally_told(found: Tally, cell: Cell, second: int, *, blind: bool) -> None:
    told = cell.told
    if told is None:
        return
    sent, received = told.sent, cell.runs.count
    if _all_arrived(cell, told):
        found.sent += sent
        found.classes[RECEIVED] += sent
        if _REFUSED_OUTCOME[told.outcome[0]]:
            found.received_though_refused += sent
        return
    inside = cell.runs.below(told.first + told.length) - cell.runs.below(told.first)
    arrived = np.bincount(told.outcome, inside, len(OUTCOMES)).astype(np.int64)
    gone = np.bincount(told.outcome, told.length - inside, len(OUTCOMES)).astype(np.int64)
    covered = int(inside.sum())
    found.unexpected += received - covered
    found.sent += sent + received - covered
    found.classes[RECEIVED] += received
    found.received_though_refused += int(arrived[_REFUSED_OUTCOME].sum())
    for code in np.flatnonzero(gone):
        outcome, count = OUTCOMES[code], int(gone[code])
        if outcome in REFUSALS:
            found.classes[REFUSED] += count
        elif blind:
            found.classes[UNOBSERVED] += count
            continue
        else:
            found.classes[LOST] += count
            found.lost_by_second[second] = found.lost_by_second.get(second, 0) + count
        found.missing[outcome] = found.missing.get(outcome, 0) + count


def _tally_untold(found: Tally, cell: Cell, before: int) -> None:
    first, end = _expected(cell, before)
    if first >= end:
        return
    found.unledgered = True
    found.sent += end - first
    found.classes[RECEIVED] += cell.runs.count
    found.classes[UNOBSERVED] += end - first - cell.runs.count


def _expected(cell: Cell, before: int) -> tuple[int, int]:
    """Without a ledger: what the window's own records prove to have been sent in it, and by that second.

    Numbers before the first one known of the window may be of earlier windows, which count them then.
    """
    table = cell.runs.table
    if not len(table):
        return 0, 0
    lowest, end = int(table[0, FIRST]), int(table[-1, END])
    first = min(before or lowest, lowest)
    return (lowest if end - first > bounds.NUMBERS else first), end


def _overlay(told: Ints, received: Ints) -> Ints:
    """Received runs over told ones: both disjoint within themselves."""
    edges = np.unique(np.concatenate((told[:, :2].ravel(), received[:, :2].ravel())))
    if len(edges) < 2:  # noqa: PLR2004 -- two edges make one stretch
        return np.empty((0, 3), np.int64)
    kind = _class_at(received, edges[:-1])
    kind = np.where(kind < 0, _class_at(told, edges[:-1]), kind)
    known = kind >= 0
    return np.column_stack((edges[:-1], edges[1:], kind))[known]


def _class_at(parts: Ints, numbers: Ints) -> Ints:
    if not len(parts):
        return np.full(len(numbers), -1, np.int64)
    place = np.searchsorted(parts[:, 0], numbers, "right") - 1
    return np.where((place >= 0) & (numbers < parts[place, 1]), parts[place, 2], -1)


def joined(parts: dict[int, Ints]) -> Ints:
    """The segments of all seconds of a stream, ascending."""
    found = np.concatenate(list(parts.values()))
    return found[np.argsort(found[:, 0], kind="stable")]


class Outage(NamedTuple):
    longest_ns: int
    since_ns: int | None  # of one that was not over at the end; None: there is none
    delivered: bool


def outage(cells: dict[int, Cell], parts: Ints, start_ns: int, end_ns: int) -> Outage:
    """The longest stretch in which a stream's messages were lost or refused, and none delivered.

    It sent from `start_ns` to `end_ns`, both within the window.
    """
    tables = [cell.runs.table for cell in cells.values() if len(cell.runs.table)]
    bad = parts[(parts[:, 2] == LOST) | (parts[:, 2] == REFUSED), 0]
    if not len(bad):
        return Outage(0, None, bool(tables))
    if not tables:
        return Outage(end_ns - start_ns, start_ns, delivered=False)
    table = np.concatenate(tables)
    table = table[np.argsort(table[:, FIRST], kind="stable")]
    before = np.concatenate(([start_ns], table[:, LAST_SENT]))
    after = np.concatenate((table[:, FIRST_SENT], [end_ns]))
    edges = np.concatenate((table[:, FIRST], [np.iinfo(np.int64).max]))
    between = np.diff(np.searchsorted(bad, edges), prepend=0) > 0
    longest = max(int((after - before)[between].max()), 0)
    return Outage(longest, int(table[-1, LAST_SENT]) if between[-1] else None, delivered=True)
