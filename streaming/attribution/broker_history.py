"""What one broker told over its polls: what its queues lost, how long they are, and that it was gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.telemetry import Telemetry
from streaming.attribution.clocks import Lateness
from streaming.attribution.one_run import OneRun
from streaming.attribution.series import Asked, Series

# Places in the values of a series. Sums that only rise in the collector's run: see collectors/broker/.
QUEUE_COUNTERS: Final = ("expired", "killed", "added", "acknowledged")
ADDRESS_COUNTERS: Final = ("unrouted",)
EXPIRED, KILLED, ADDED, ACKNOWLEDGED = range(len(QUEUE_COUNTERS))
UNROUTED: Final = 0

MOST_QUEUES: Final = 4_096
MOST_SPANS: Final = 256  # times that it was away, or started anew: the newest ones are kept
_HIGHEST: Final = 1 << 62


@dataclass(slots=True)
class Queue:
    """A queue, or an address, which has none of the gauges."""

    series: Series = field(default_factory=Series)
    epoch: int = 0
    poll: int = 0
    asked_ns: int = 0
    messages: int = 0
    consumers: int = 0
    out_rate: float = 0.0  # messages a second, between the last two polls
    limit_ratio: float = 0.0  # of an address: of its memory


@dataclass(slots=True)
class BrokerHistory:
    """One broker."""

    mesh: str
    broker: str
    run: str = ""
    start_ms: int = 0
    heard_ns: int = 0
    interval_ns: int = 0
    epoch: int = 0
    up: bool = True
    queues: dict[str, Queue] = field(default_factory=dict)
    addresses: dict[str, Queue] = field(default_factory=dict)
    absences: list[list[int]] = field(default_factory=list)  # each between two times; 0: it goes on
    restarts: list[list[int]] = field(default_factory=list)
    told: dict[str, list[int]] = field(default_factory=dict)  # by entity: numbers of the last two polls
    gc_added_ms: int = 0  # collection pauses of its JVM, in the last poll's interval
    omitted: int = 0
    listened: OneRun = field(default_factory=OneRun)
    lateness: Lateness = field(default_factory=Lateness)  # of its collector's clock

    def take(self, record: Telemetry) -> None:
        """Take in a record; raises ValueError where its rows cannot be read."""
        at = Asked(record.asked_ns, max(record.asked_ns, record.answered_ns))
        if not self.listened.listens(record):
            return
        if record.entity == "broker":
            self._broker(record, at)
        elif record.entity == "queue":
            self._entities(self.queues, record, "queue", QUEUE_COUNTERS, at)
        elif record.entity == "address":
            self._entities(self.addresses, record, "address", ADDRESS_COUNTERS, at)
        elif record.entity == "jvm":
            self.gc_added_ms = sum(_count(row, "collection_ms_added") for row in record.rows if "gc" in row)

    def forget(self, before_ns: int) -> None:
        """Drop what was told before this time."""
        for kept in (self.queues, self.addresses):
            for name in [name for name, each in kept.items() if each.asked_ns < before_ns]:
                del kept[name]
            for each in kept.values():
                each.series.forget(before_ns)
        self.absences = [span for span in self.absences if not span[1] or span[1] >= before_ns]
        self.restarts = [span for span in self.restarts if span[1] >= before_ns]

    def _broker(self, record: Telemetry, at: Asked) -> None:
        row = record.rows[0] if record.rows else {}
        up, start_ms = row.get("up") is True, row.get("start_ms")
        if self.up and not up:
            self.absences.append([self.heard_ns or at.asked_ns, 0])
            del self.absences[:-MOST_SPANS]
        elif up and not self.up and self.absences:
            self.absences[-1][1] = at.answered_ns
        self.up = up
        if up:
            started = start_ms if type(start_ms) is int else 0
            restarted = record.restarted or bool(self.start_ms and started and started != self.start_ms)
            if restarted:
                self.restarts.append([min(self.heard_ns, at.asked_ns), at.answered_ns])
                del self.restarts[:-MOST_SPANS]
            if restarted or record.run != self.run:
                self.epoch += 1
            self.run, self.start_ms = record.run, started
            self.heard_ns = max(self.heard_ns, at.answered_ns)
        self.interval_ns = record.interval_ns

    def _entities(
        self, kept: dict[str, Queue], record: Telemetry, key: str, counters: tuple[str, ...], at: Asked
    ) -> None:
        polls = self.told.setdefault(key, [0, 0])
        if record.poll != polls[1]:
            self.told[key] = polls = [polls[1], record.poll]
        for row in record.rows:
            self._entity(kept, _text(row, key), row, counters, (at, polls[0], polls[1]))

    def _entity(
        self,
        kept: dict[str, Queue],
        name: str,
        row: dict[str, Any],
        counters: tuple[str, ...],
        poll: tuple[Asked, int, int],
    ) -> None:
        at, before, now = poll
        found = kept.get(name)
        if found is None:
            if len(kept) >= MOST_QUEUES:
                self.omitted += 1
                return
            found = kept[name] = Queue(epoch=self.epoch)
        seconds = (at.answered_ns - found.asked_ns) / 1e9 if found.asked_ns else 0.0
        values = tuple([_count(row, counter) for counter in counters])
        # One that was missing in the poll before may have counted, gone, and come back.
        away = found.poll not in {0, before, now}
        found.series.add(at, values, broken=away or found.epoch != self.epoch)
        found.poll = now
        found.epoch, found.asked_ns = self.epoch, at.asked_ns
        added = _count(row, "acknowledged_added") + _count(row, "expired_added")
        found.out_rate = added / seconds if seconds > 0 else 0.0
        found.messages, found.consumers = _count(row, "messages"), _count(row, "consumers")
        ratio = row.get("limit_ratio")
        found.limit_ratio = float(ratio) if isinstance(ratio, int | float) else 0.0


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")  # noqa: TRY004 -- bad data, not a bad call
    return value


def _count(row: dict[str, Any], name: str) -> int:
    """Return a count, 0 where the product does not tell it; raises ValueError for what is none."""
    value = row.get(name)
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value < _HIGHEST:
        raise ValueError(f"{name} is not a count")
    return value
