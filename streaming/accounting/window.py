"""What is known of the messages sent in one window: ledgers, received numbers, and what is summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from collectors.contract.records import FLAG_REDELIVERED, FLAG_REORDERED, Header, Ledger, Received
from streaming.accounting import bounds, ledgers
from streaming.accounting.admission import Rejected
from streaming.accounting.number_ranges import END, FIRST, NumberRanges
from streaming.accounting.samples import Samples

Ints = NDArray[np.int64]

COUNTS: Final = ("duplicate", "redelivered", "reordered", "late", "foreign", "received_bytes")


class TooMuch(Rejected):
    """The rows of a record would take a window beyond its bounds."""


@dataclass(slots=True)
class SecondLedger:
    """A sender's ledger of one second, in its highest revision: outcomes by ranges of numbers."""

    revision: int
    first: Ints
    length: Ints
    outcome: NDArray[np.uint8]
    due: int
    unsent: dict[str, int]
    body_bytes: int
    sent: int = field(init=False)

    def __post_init__(self) -> None:
        self.sent = int(self.length.sum())


@dataclass(slots=True)
class Cell:
    """One stream's messages of one send second."""

    received: NumberRanges = field(default_factory=NumberRanges)
    ledger: SecondLedger | None = None


_NEW: Final = Cell()


@dataclass(slots=True)
class Window:
    start_ns: int
    cells: dict[str, dict[int, Cell]] = field(default_factory=dict)  # by stream, by second
    samples: Samples = field(default_factory=Samples)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    rfc3550_ns: int = 0
    routes: dict[str, int] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    # Of a final window:
    revision: int = -1  # of its newest row; -1: it is not final yet
    blind_ns: int = 0  # seconds that begin before were not wholly observed, as of the newest row
    outage_since_ns: int | None = None
    clock: tuple[int, int] | None = None  # offset and bound, as of revision 0
    origin: dict[str, dict[int, Ints]] | None = None  # classes as of revision 0, once they may change
    digest: str = ""  # of the newest row

    def cell(self, stream: str, second: int) -> Cell:
        of_stream = self.cells.get(stream)
        if of_stream is None:
            if len(self.cells) >= bounds.STREAMS:
                raise TooMuch("streams", f"more than {bounds.STREAMS} streams in one window")
            of_stream = self.cells[stream] = {}
        found = of_stream.get(second)
        if found is None:
            found = of_stream[second] = Cell()
        return found

    def take_samples(self, header: Header, rows: Received) -> None:
        """Count a receiver's rows. Raises TooMuch and changes nothing where they are beyond the bounds."""
        if not rows.size:
            return
        cell = self.cell(header.stream, header.second)
        one_range = rows.contiguous
        _check_bounds(cell, rows, one_range)
        fresh = cell.received.add(rows, one_range)
        counts = self.counts
        counts["received_bytes"] += header.body_bytes
        flagged = rows.flags.any()
        if flagged:
            counts["redelivered"] += int(np.count_nonzero(rows.flags & FLAG_REDELIVERED))
        if fresh is not None:
            counts["duplicate"] += len(fresh) - int(np.count_nonzero(fresh))
            rows = rows.only(fresh)
        self.rfc3550_ns = max(self.rfc3550_ns, header.rfc3550_ns)
        self._count_routes(header.routes)
        if not rows.size:
            return
        if flagged:
            counts["reordered"] += int(np.count_nonzero(rows.flags & FLAG_REORDERED))
        if self.revision >= 0:
            counts["late"] += rows.size
        self.samples.add(header.stream, rows)

    def take_ledger(self, header: Header, rows: Ledger) -> None:
        """Take in a ledger, unless a higher revision is known. Raises TooMuch as `take_samples` does."""
        known = self.cells.get(header.stream, {}).get(header.second, _NEW).ledger
        if known is not None:
            if known.revision > header.revision:
                return
            rows = ledgers.merged(rows, Ledger(known.first, known.length, known.outcome))
        if (
            len(rows.first_seq)
            and int(rows.first_seq[-1] + rows.length[-1] - rows.first_seq[0]) > bounds.NUMBERS
        ):
            raise TooMuch("numbers", f"a ledger over more than {bounds.NUMBERS} numbers in one second")
        if len(rows.first_seq) > bounds.NUMBER_RANGES:
            raise TooMuch("runs", f"a ledger of more than {bounds.NUMBER_RANGES} pieces in one second")
        cell = self.cell(header.stream, header.second)
        cell.ledger = SecondLedger(
            header.revision,
            rows.first_seq,
            rows.length,
            rows.outcome,
            header.due,
            dict(header.unsent.items()),
            header.body_bytes,
        )

    def _count_routes(self, routes: Mapping[str, int]) -> None:
        for route, count in routes.items():
            known = route in self.routes or len(self.routes) < bounds.ROUTES
            name = route if known else "other"
            self.routes[name] = self.routes.get(name, 0) + count


def _check_bounds(cell: Cell, rows: Received, one_range: tuple[int, int] | None) -> None:
    if one_range is not None:
        low, high = one_range[0], one_range[1] - 1
    else:
        low, high = rows.base + int(rows.from_base.min()), rows.base + int(rows.from_base.max())
    table = cell.received.table
    if len(table):
        low, high = min(low, int(table[0, FIRST])), max(high, int(table[-1, END]))
    ledger = cell.ledger
    if ledger is not None and len(ledger.first):
        low, high = min(low, int(ledger.first[0])), max(high, int(ledger.first[-1]))
    if high - low > bounds.NUMBERS:
        raise TooMuch("numbers", f"a number {high - low} away from others of the same second")
    if len(table) + rows.size > bounds.NUMBER_RANGES and len(table) > bounds.NUMBER_RANGES // 2:
        raise TooMuch(
            "runs", f"numbers received in more than {bounds.NUMBER_RANGES // 2} pieces in one second"
        )
