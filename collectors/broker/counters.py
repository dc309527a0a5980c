"""A broker's counters over many polls: sums that only rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from collectors.broker.poll import BrokerView, Row
from collectors.polling.monotonic_counters import CounterDeltas, MonotonicSums

QUEUE_COUNTERS: Final = ("added", "acknowledged", "expired", "killed")
GC_COUNTERS: Final = ("collections", "collection_ms")
FORGET_NS: Final = 900_000_000_000
# A process is another one when it started at another time; its clock may be corrected a little.
START_SLACK_MS: Final = 5_000


@dataclass(slots=True)
class Counted:
    """A thing's counters: what they add up to and what this poll added; None for those it does not have."""

    sums: dict[str, int | None]
    added: dict[str, int]


@dataclass(slots=True)
class Tallied:
    """What a poll of a broker comes to."""

    restarted: bool
    queues: list[tuple[Row, Counted]]
    addresses: list[tuple[Row, Counted]]
    gcs: list[tuple[Row, Counted]]
    cpu: Counted


class Tally:
    """Kept for one broker, fed with each poll of it that succeeded."""

    def __init__(self) -> None:
        self._deltas = CounterDeltas()
        self._sums: dict[str, MonotonicSums] = {}
        self._start_ms: int | None = None

    def feed(self, view: BrokerView) -> Tallied:
        start_ms = view.start_ms
        restarted = (
            self._start_ms is not None
            and start_ms is not None
            and abs(start_ms - self._start_ms) > START_SLACK_MS
        )
        self._start_ms = start_ms if start_ms is not None else self._start_ms
        self._deltas.start_round(restarted=restarted)
        tallied = Tallied(
            restarted,
            self._count(view, "queue", QUEUE_COUNTERS, ("address", "queue")),
            self._count(view, "address", ("unrouted",), ("address",)),
            self._count(view, "gc", GC_COUNTERS, ("gc",)),
            self._one(view, "cpu", view.one("system"), ("cpu_ns",), ()),
        )
        self._deltas.end_round()
        for sums in self._sums.values():
            sums.forget_idle(view.steady_ns)
        return tallied

    def _count(
        self, view: BrokerView, bean: str, counters: tuple[str, ...], key: tuple[str, ...]
    ) -> list[tuple[Row, Counted]]:
        return [
            (row, self._one(view, bean, row, counters, tuple(row.get(name) for name in key)))
            for row in view.beans.get(bean, [])
        ]

    def _one(
        self, view: BrokerView, bean: str, row: Row, counters: tuple[str, ...], key: tuple[Any, ...]
    ) -> Counted:
        reading = tuple(max(0, row.get(name) or 0) for name in counters)
        added = self._deltas.increase((bean, key), reading)
        sums = self._sums.setdefault(bean, MonotonicSums(len(counters), FORGET_NS))
        sums.add(key, added, view.steady_ns)
        totals = zip(counters, sums.get(key), strict=True)
        return Counted(
            {name: total if row.get(name) is not None else None for name, total in totals},
            dict(zip(counters, added, strict=True)),
        )
