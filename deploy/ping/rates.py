"""Rates by the second: due and sent by the senders' ledgers, received by time of arrival."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collectors.contract.records import SECOND_NS, Record


class _Ledger(NamedTuple):
    revision: int
    due: int
    sent: int
    unsent: int


class Rates:
    """Takes records of probes, of several paths if need be."""

    def __init__(self) -> None:
        self._ledgers: dict[tuple[str, int], _Ledger] = {}  # by stream and second: the highest revision
        self._received: Counter[int] = Counter()

    def take(self, record: Record) -> None:
        if record.ledger is not None:
            self._take_ledger(record, int(record.ledger.length.sum()))
        if record.received is not None and record.received.size:
            seconds, counts = np.unique(record.received.received_ns // SECOND_NS, return_counts=True)
            self._received.update(dict(zip(seconds.tolist(), counts.tolist(), strict=True)))

    def _take_ledger(self, record: Record, sent: int) -> None:
        header = record.header
        key = header.stream, header.second
        known = self._ledgers.get(key)
        if known is None or known.revision < header.revision:
            self._ledgers[key] = _Ledger(header.revision, header.due, sent, sum(header.unsent.values()))
        elif known.revision == header.revision:  # a second with very many changes of outcome comes in parts
            self._ledgers[key] = known._replace(sent=known.sent + sent)

    def backlog(self, from_second: int, to_second: int) -> list[int]:
        """Return how many messages were due and not there at the end of each second of [from, to).

        What the sender gave up, or had to, is not waited for.
        """
        found, waiting, left = self._by_second(), 0, []
        for second in range(min(found, default=from_second), to_second):
            due, _, received, unsent = found.get(second, (0, 0, 0, 0))
            waiting += due - received - unsent
            if second >= from_second:
                left.append(waiting)
        return left

    def write(self, file: Path) -> None:
        """Write a line for each second; raises OSError."""
        found = self._by_second()
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(("second", "due", "sent", "received", "unsent"))
            writer.writerows((second, *found[second]) for second in sorted(found))

    def _by_second(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for (_, second), ledger in self._ledgers.items():
            found[second][0] += ledger.due
            found[second][1] += ledger.sent
            found[second][3] += ledger.unsent
        for second, count in self._received.items():
            found[second][2] += count
        return found
