"""What was measured of the messages of a window, each counted when it first arrived."""

from __future__ import annotations

from typing import Final

import numpy as np

from collectors.contract.records import Ints, Received
from streaming.accounting.latencies import JITTER, KINDS, RESPONSE, SERVICE, Latencies

_FEW: Final = 1_024  # so few are sorted whenever a live row is made, rather than counted each time
_FLUSH_AT: Final = 8_192  # so many are counted at once, which costs little more than counting few


class Samples:
    """Samples of first arrivals; they wait until figures are asked for, so that small records cost little."""

    __slots__ = (
        "_waiting",
        "_waiting_count",
        "last_received_ns",
        "latencies",
        "negative",
        "slowest",
    )

    def __init__(self) -> None:
        self.latencies = Latencies()
        self.negative = 0
        self.last_received_ns = 0
        self.slowest: tuple[str, int, int] | None = None  # stream, number, response
        self._waiting: list[tuple[str, Received]] = []
        self._waiting_count = 0

    @property
    def count(self) -> int:
        return self.latencies.totals[RESPONSE].count + self._waiting_count

    def add(self, stream: str, rows: Received) -> None:
        """Take in rows of first arrivals of one stream; there is at least one."""
        arrived_ns = np.add(rows.from_start_ns, rows.service_ns, dtype=np.int64)
        newest_ns = rows.start_ns + int(arrived_ns.max())
        self.last_received_ns = max(self.last_received_ns, newest_ns)
        self._waiting.append((stream, rows))
        self._waiting_count += rows.size
        if self._waiting_count >= _FLUSH_AT:
            self.flush()

    def few_responses(self) -> Ints | None:
        """Returns all response latencies if they are few, or None: then `flush` counts them cheaper."""
        if self.latencies.totals[RESPONSE].count or self._waiting_count > _FEW:
            return None
        found = np.empty(self._waiting_count, np.int64)
        if self._waiting:
            np.concatenate([rows.service_ns for _, rows in self._waiting], out=found)
            found += np.concatenate([rows.delay_ns for _, rows in self._waiting])
        return found

    def flush(self) -> None:
        """Count what waits; to be called before `latencies`, `negative` or `slowest` are read."""
        waiting = self._waiting
        if not waiting:
            return
        count, self._waiting, self._waiting_count = self._waiting_count, [], 0
        rows = [rows for _, rows in waiting]
        times_ns = np.empty((KINDS, count), np.int64)
        response, service, ipdv = times_ns
        np.concatenate([each.delay_ns for each in rows], out=response)
        np.concatenate([each.service_ns for each in rows], out=service)
        np.concatenate([each.ipdv_ns for each in rows], out=ipdv)
        response += service
        worst = int(response.argmax())
        if self.slowest is None or int(response[worst]) > self.slowest[2]:
            stream, number = _message_at(waiting, worst)
            self.slowest = stream, number, int(response[worst])
        latencies = self.latencies
        if all(each.present is None for each in rows):
            latencies.record(times_ns)
        else:
            has_ipdv = np.concatenate([each.has_ipdv for each in rows])
            latencies.record(times_ns[JITTER:, has_ipdv], JITTER)
            latencies.record(times_ns[:JITTER])
        if min(latencies.totals[RESPONSE].least, latencies.totals[SERVICE].least) < 0:
            self.negative += int(np.count_nonzero((service < 0) | (response < 0)))


def _message_at(waiting: list[tuple[str, Received]], place: int) -> tuple[str, int]:
    """Returns stream and number of the message at that place of all rows, one after the other."""
    for stream, rows in waiting:
        if place < rows.size:
            return stream, rows.base + int(rows.from_base[place])
        place -= rows.size
    raise IndexError(place)
