"""A broker's counters over many polls, as sums that only rise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from collectors.broker import schema
from collectors.broker.products import PRODUCTS
from collectors.broker.schema import Bean
from collectors.broker.snapshot import BrokerSnapshot, Row
from collectors.polling.monotonic_counters import CounterDeltas, MonotonicSums

FORGET_NS: Final = 900_000_000_000
# A process is another one when it started at another time; its clock may be corrected a little.
START_SLACK_MS: Final = 5_000


def _counters() -> dict[str, tuple[str, ...]]:
    """Return the counters of each kind of MBean. Records have those of all products, whichever it is."""
    found: dict[str, dict[str, None]] = {}
    for bean in (*schema.JVM, schema.LINK, *(bean for product in PRODUCTS for bean in product.beans)):
        found.setdefault(bean.name, {}).update(dict.fromkeys(a.name for a in bean.counts))
    return {bean: tuple(names) for bean, names in found.items()}


COUNTERS: Final = _counters()


@dataclass(slots=True)
class CountedRow:
    """A row and its counters: their sums, None for those the broker has not, and what this poll added."""

    row: Row
    sums: dict[str, int | None]
    added: dict[str, int]

    def record(self) -> Row:
        added = {f"{name}_added": value for name, value in self.added.items()}
        return {**self.row, **self.sums, **added}


@dataclass(slots=True)
class CountedBroker:
    """The result of a poll of one broker: rows by kind of MBean."""

    restarted: bool
    beans: dict[str, list[CountedRow]] = field(default_factory=dict)

    def rows(self, bean: str) -> list[CountedRow]:
        return self.beans.get(bean, [])


class BrokerCounters:
    """Counters of one broker; `count` is given each poll that succeeded."""

    def __init__(self) -> None:
        self._deltas = CounterDeltas()
        self._sums = {bean: MonotonicSums(len(names), FORGET_NS) for bean, names in COUNTERS.items()}
        self._start_ms: int | None = None

    def count(self, snapshot: BrokerSnapshot) -> CountedBroker:
        start_ms = snapshot.start_ms
        restarted = (
            self._start_ms is not None
            and start_ms is not None
            and abs(start_ms - self._start_ms) > START_SLACK_MS
        )
        self._start_ms = start_ms if start_ms is not None else self._start_ms
        self._deltas.start_round(restarted=restarted)
        counted = CountedBroker(restarted)
        for bean in (*schema.JVM, schema.LINK, *snapshot.product.beans):
            counted.beans[bean.name] = self._count(snapshot, bean)
        self._deltas.end_round()
        for sums in self._sums.values():
            sums.forget_idle(snapshot.steady_ns)
        return counted

    def _count(self, snapshot: BrokerSnapshot, bean: Bean) -> list[CountedRow]:
        rows = snapshot.beans.get(bean.name, [])
        if not bean.labels:
            rows = rows[:1]
        names, totals = COUNTERS[bean.name], self._sums[bean.name]
        if not names:
            return [CountedRow(row, {}, {}) for row in rows]
        found = []
        for row in rows:
            key = tuple(row[label] for label in bean.labels)
            added = self._deltas.increase((bean.name, key), tuple(max(0, row.get(n) or 0) for n in names))
            totals.add(key, added, snapshot.steady_ns)
            sums = {
                name: total if row.get(name) is not None else None
                for name, total in zip(names, totals.get(key), strict=True)
            }
            found.append(CountedRow(row, sums, dict(zip(names, added, strict=True))))
        return found
