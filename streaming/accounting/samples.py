"""The latencies of a window's messages, each counted once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from collectors.records import Received
from streaming.accounting.measure import Measure, record_each

_FLUSH_AT: Final = 4_096  # rows kept as they came; counting many at once costs little more than counting few


class Samples:
    """Measures of first arrivals. Rows wait until somebody asks, so that small records cost little."""

    __slots__ = (
        "_waiting",
        "_waiting_count",
        "jitter",
        "last_received_ns",
        "negative",
        "response",
        "service",
        "slowest",
    )

    def __init__(self) -> None:
        self.response = Measure()
        self.service = Measure()
        self.jitter = Measure()
        self.negative = 0
        self.last_received_ns = 0
        self.slowest: tuple[str, int, int] | None = None  # stream, number, response
        self._waiting: list[tuple[str, Received]] = []
        self._waiting_count = 0

    @property
    def count(self) -> int:
        return self.response.count + self._waiting_count

    def add(self, stream: str, rows: Received) -> None:
        self._waiting.append((stream, rows))
        self._waiting_count += len(rows.seq)
        if self._waiting_count >= _FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        """Count what waits; to be called before anything but `count` is read."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting, self._waiting_count = [], 0
        rows = [rows for _, rows in waiting]
        received_ns = _joined([each.received_ns for each in rows])
        times_ns = np.empty((3, len(received_ns)), np.int64)
        response, service, ipdv = times_ns
        np.subtract(received_ns, _joined([each.intended_ns for each in rows]), out=response)
        np.subtract(received_ns, _joined([each.sent_ns for each in rows]), out=service)
        self.last_received_ns = max(self.last_received_ns, int(received_ns.max()))
        ipdv[:] = _joined([each.ipdv_ns for each in rows])
        has_ipdv = _joined([each.has_ipdv for each in rows])
        if has_ipdv.all():
            record_each((self.response, self.service, self.jitter), times_ns)
        else:
            self.response.record(response)
            self.service.record(service)
            self.jitter.record(ipdv[has_ipdv], absolute=True)
        if self.service.least < 0 or self.response.least < 0:
            self.negative += int(np.count_nonzero((service < 0) | (response < 0)))
        worst = int(response.argmax())
        if self.slowest is None or int(response[worst]) > self.slowest[2]:
            stream, number = _named(waiting, worst)
            self.slowest = stream, number, int(response[worst])


def _joined(columns: list[Any]) -> Any:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _named(waiting: list[tuple[str, Received]], place: int) -> tuple[str, int]:
    for stream, rows in waiting:
        if place < len(rows.seq):
            return stream, int(rows.seq[place])
        place -= len(rows.seq)
    raise IndexError(place)
