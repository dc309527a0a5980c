"""Which class each message of a window is in, by ranges of sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import OUTCOMES, SECOND_NS
from collectors.contract.window_rows import CLASSES, NO_CLASS
from streaming.accounting import bounds
from streaming.accounting.number_ranges import END, FIRST
from streaming.accounting.window import Cell, SecondLedger, Window

Ints = NDArray[np.int64]

# A class as a number: its place in the row contract's table of them.
RECEIVED: Final = CLASSES.index("received")
REFUSED: Final = CLASSES.index("refused")
LOST: Final = CLASSES.index("lost")
UNOBSERVED: Final = CLASSES.index("unobserved")
_UNKNOWN: Final = -1  # among the numbers of classes: NO_CLASS
REFUSALS: Final = ("rejected", "released", "modified")
LOSSES: Final = ("accepted", "presettled", "unsettled")
_NOTHING: Final[Ints] = np.empty((0, 3), np.int64)
_IS_REFUSAL: Final = np.asarray([outcome in REFUSALS for outcome in OUTCOMES])
_IF_OBSERVED: Final[Ints] = np.where(_IS_REFUSAL, REFUSED, LOST)
_IF_BLIND: Final[Ints] = np.where(_IS_REFUSAL, REFUSED, UNOBSERVED)


@dataclass(slots=True)
class ClassCounts:
    """How many messages of a window are in each class, and the figures beside them."""

    sent: int = 0
    by_class: list[int] = field(default_factory=lambda: [0] * len(CLASSES))
    missing: dict[str, int] = field(default_factory=dict)  # refused and lost, by outcome
    received_though_refused: int = 0
    unexpected: int = 0
    lost_detached: int = 0
    lost_by_second: dict[int, int] = field(default_factory=dict)
    unledgered: bool = False  # numbers were received in a second of which there is no ledger


def count_classes(window: Window, blind_ns: int) -> ClassCounts:
    """Returns the counts; seconds that begin before `blind_ns` were not wholly observed."""
    found = ClassCounts()
    for cells in window.cells.values():
        for second in sorted(cells):
            cell = cells[second]
            if cell.ledger is None:
                _count_without_ledger(found, cell, _covered_before(cells, second))
            else:
                _count_by_ledger(found, cell, cell.ledger, second, blind=second * SECOND_NS < blind_ns)
    return found


def _covered_before(cells: dict[int, Cell], second: int) -> int:
    """Returns `covered_to` of a stream's earlier seconds of the window, or 0."""
    return max((covered_to(cell) for at, cell in cells.items() if at < second), default=0)


def covered_to(cell: Cell) -> int:
    """Returns one more than the highest number that is known of a stream's second, or 0."""
    table = cell.received.table
    high = int(table[-1, END]) if len(table) else 0
    if cell.ledger is not None and len(cell.ledger.first):
        high = max(high, int(cell.ledger.first[-1] + cell.ledger.length[-1]))
    return high


def segments(window: Window, blind_ns: int) -> dict[str, dict[int, Ints]]:
    """Returns, by stream and second, disjoint ranges of numbers as rows (first, end, class), ascending."""
    found: dict[str, dict[int, Ints]] = {}
    for stream, cells in window.cells.items():
        found[stream] = {
            second: _segments(window, stream, second, blind=second * SECOND_NS < blind_ns)
            for second in sorted(cells)
        }
    return found


def _segments(window: Window, stream: str, second: int, *, blind: bool) -> Ints:
    cell = window.cells[stream][second]
    if cell.ledger is not None and (whole := _all_arrived(cell, cell.ledger)):
        return np.asarray([[*whole, RECEIVED]], np.int64)
    table = cell.received.table[:, [FIRST, END]]
    received = np.column_stack((table, np.full(len(table), RECEIVED)))
    if cell.ledger is None:
        first, end = _sent_without_ledger(cell, _covered_before(window.cells[stream], second))
        sent = np.asarray([[first, end, UNOBSERVED]], np.int64)[: int(first < end)]
    else:
        kind = _class_if_missing(blind=blind)[cell.ledger.outcome]
        sent = np.column_stack((cell.ledger.first, cell.ledger.first + cell.ledger.length, kind))
    return _overlay(sent, received)


def _all_arrived(cell: Cell, ledger: SecondLedger) -> tuple[int, int] | None:
    """Returns first number and end of what was sent if it is one range, and that and nothing else arrived."""
    table = cell.received.table
    if len(table) != 1 or len(ledger.first) != 1:
        return None
    first, end = int(ledger.first[0]), int(ledger.first[0]) + ledger.sent
    return (first, end) if table[0, FIRST] == first and table[0, END] == end else None


def _class_if_missing(*, blind: bool) -> Ints:
    """Returns the class of a message that did not arrive, by the code of its outcome."""
    return _IF_BLIND if blind else _IF_OBSERVED


def all_moves(before: dict[str, dict[int, Ints]], after: dict[str, dict[int, Ints]]) -> dict[str, int]:
    """Returns how many numbers went from which class to which, over all streams and seconds."""
    total: dict[str, int] = {}
    for stream in sorted(before.keys() | after.keys()):
        was, now = before.get(stream, {}), after.get(stream, {})
        for second in sorted(was.keys() | now.keys()):
            for name, count in moves(was.get(second, _NOTHING), now.get(second, _NOTHING)).items():
                total[name] = total.get(name, 0) + count
    return total


def moves(before: Ints, after: Ints) -> dict[str, int]:
    """Returns how many numbers went from which class to which, as `lost>received`."""
    edges = np.unique(np.concatenate((before[:, :2].ravel(), after[:, :2].ravel())))
    if len(edges) < 2:  # noqa: PLR2004 -- two edges make one range
        return {}
    was, now = _class_at(before, edges[:-1]), _class_at(after, edges[:-1])
    lengths = np.diff(edges)
    found: dict[str, int] = {}
    for place in np.flatnonzero(was != now):
        name = f"{_name(was[place])}>{_name(now[place])}"
        found[name] = found.get(name, 0) + int(lengths[place])
    return found


def _name(kind: int) -> str:
    return NO_CLASS if kind == _UNKNOWN else CLASSES[kind]


def _count_by_ledger(
    found: ClassCounts, cell: Cell, ledger: SecondLedger, second: int, *, blind: bool
) -> None:
    sent, received = ledger.sent, cell.received.count
    if _all_arrived(cell, ledger):
        found.sent += sent
        found.by_class[RECEIVED] += sent
        if _IS_REFUSAL[ledger.outcome[0]]:
            found.received_though_refused += sent
        return
    inside = cell.received.below(ledger.first + ledger.length) - cell.received.below(ledger.first)
    arrived = np.bincount(ledger.outcome, inside, len(OUTCOMES)).astype(np.int64)
    gone = np.bincount(ledger.outcome, ledger.length - inside, len(OUTCOMES)).astype(np.int64)
    covered = int(inside.sum())
    found.unexpected += received - covered
    found.sent += sent + received - covered
    found.by_class[RECEIVED] += received
    found.received_though_refused += int(arrived[_IS_REFUSAL].sum())
    for code in np.flatnonzero(gone):
        outcome, count = OUTCOMES[code], int(gone[code])
        kind = int(_class_if_missing(blind=blind)[code])
        found.by_class[kind] += count
        if kind == LOST:
            found.lost_by_second[second] = found.lost_by_second.get(second, 0) + count
        if kind in {REFUSED, LOST}:
            found.missing[outcome] = found.missing.get(outcome, 0) + count


def _count_without_ledger(found: ClassCounts, cell: Cell, before: int) -> None:
    first, end = _sent_without_ledger(cell, before)
    if first >= end:
        return
    found.unledgered = True
    found.sent += end - first
    found.by_class[RECEIVED] += cell.received.count
    found.by_class[UNOBSERVED] += end - first - cell.received.count


def _sent_without_ledger(cell: Cell, before: int) -> tuple[int, int]:
    """Returns first number and end of what was sent, as the window's own records prove it.

    Numbers before the first one known of the window may be of earlier windows, which count them then.
    """
    table = cell.received.table
    if not len(table):
        return 0, 0
    lowest, end = int(table[0, FIRST]), int(table[-1, END])
    first = min(before or lowest, lowest)
    return (lowest if end - first > bounds.NUMBERS else first), end


def _overlay(sent: Ints, received: Ints) -> Ints:
    """Returns the received ranges, and the sent ones where nothing was received."""
    edges = np.unique(np.concatenate((sent[:, :2].ravel(), received[:, :2].ravel())))
    if len(edges) < 2:  # noqa: PLR2004 -- two edges make one range
        return np.empty((0, 3), np.int64)
    kind = _class_at(received, edges[:-1])
    kind = np.where(kind < 0, _class_at(sent, edges[:-1]), kind)
    known = kind >= 0
    return np.column_stack((edges[:-1], edges[1:], kind))[known]


def _class_at(parts: Ints, numbers: Ints) -> Ints:
    """Returns the class of each number, _UNKNOWN where it is in no range."""
    if not len(parts):
        return np.full(len(numbers), _UNKNOWN, np.int64)
    place = np.searchsorted(parts[:, 0], numbers, "right") - 1
    return np.where((place >= 0) & (numbers < parts[place, 1]), parts[place, 2], _UNKNOWN)
