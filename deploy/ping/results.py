"""The results of a ping: rows of the same accounting as everywhere, summed over all windows."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from collectors.config.paths import Path
from collectors.contract.record_codec import decode
from collectors.contract.records import Received, Record
from collectors.contract.window_rows import CLASSES, Latency, LiveRow, WindowRow, decode_window
from collectors.process import wall_clock
from deploy.ping.figures import Latencies, merged, percentiles_of
from deploy.ping.rates import Rates
from streaming.accounting import PathState
from streaming.histogram import Histogram
from streaming.histogram import decode as decode_histogram

_MOST_VALUES: Final = 20_000_000
_ADDED: Final = ("late", "duplicate", "redelivered", "reordered", "foreign", "unexpected", "negative")


class PingResults:
    """Takes encoded records as Kafka would get them, and keeps what the summary and the files need."""

    def __init__(self, path: Path, *, keep_samples: bool = False) -> None:
        self._state = PathState(path.name, path.rules)
        self._keep_samples = keep_samples
        self._settle_ns = path.rules.settle_ns
        self._unpaced = path.rate[0].start == 0
        self.rows: list[WindowRow] = []
        self.samples: list[Record] = []
        self.ledgers: dict[tuple[str, int], list[Record]] = {}  # by stream and second: the highest revision
        self.rates: Final = Rates()
        self._ipdv: list[NDArray[np.int64]] = []
        self._values = 0
        self.stood_still_seconds = 0.0  # set by the execution
        self._span: list[
            tuple[int, int]
        ] = []  # number and intended time of the first message and of the last
        self._arrivals = 0
        self._arrived: list[int] = []  # times of the first arrival and of the last

    def take(self, data: bytes, key: str) -> None:  # noqa: ARG002 -- there is one path
        record = decode(data)
        self.rows += map(decode_window, self._state.apply(record, wall_clock.now_ns()))
        if self._state.rejection is not None:
            raise RuntimeError(f"the accounting refused a record of this probe: {self._state.rejection}")
        self.rates.take(record)
        header = record.header
        if record.ledger is not None:
            key_of = header.stream, header.second
            known = self.ledgers.get(key_of)
            if known is None or known[0].header.revision < header.revision:
                self.ledgers[key_of] = [record]
            else:
                known.append(record)  # a second with very many changes of outcome comes in parts
        if record.received is not None and record.received.size:
            self._widen(record.received)
            if self._values < _MOST_VALUES:
                self._ipdv.append(record.received.ipdv_ns[record.received.has_ipdv].astype(np.int64))
                self._values += len(self._ipdv[-1])
            if self._keep_samples:
                self.samples.append(record)

    def _widen(self, rows: Received) -> None:
        ends = {int(rows.from_base.argmin()), int(rows.from_base.argmax())}
        found = [(int(rows.seq[at]), int(rows.intended_ns[at])) for at in ends]
        self._span = [min(self._span + found), max(self._span + found)]
        self._arrivals += rows.size
        arrived = [*self._arrived, int(rows.received_ns.min()), int(rows.received_ns.max())]
        self._arrived = [min(arrived), max(arrived)]

    def live(self) -> LiveRow | None:
        return self._state.live()

    @property
    def lost(self) -> int:
        return sum(row["classes"]["lost"] for row in self.last_rows())

    def last_rows(self) -> list[WindowRow]:
        """Returns the newest revision of each window, by time."""
        newest: dict[int, WindowRow] = {}
        for row in self.rows:
            newest[row["window_start_ns"]] = row
        return [newest[start] for start in sorted(newest)]

    def summary(self, *, ping_pong: bool = False) -> dict[str, Any]:
        """Returns all figures, as `--json` prints them."""
        rows = self.last_rows()
        classes = {name: sum(row["classes"][name] for row in rows) for name in CLASSES}
        found: dict[str, Any] = {
            "sent": sum(row["sent"] for row in rows),
            "classes": classes,
            "refused": _summed(rows, "refused"),
            "lost": _summed(rows, "lost"),
            "unsent": _summed(rows, "unsent"),
            **{name: sum(int(row[name]) for row in rows) for name in _ADDED},
            "response": _merged([row["response"] for row in rows]),
            "service": _merged([row["service"] for row in rows]),
            "jitter": self._jitter(),
            "rate": self._rate(rows),
            "clock": max((r["clock"] for r in rows if r["clock"]), key=lambda c: c["bound_ns"], default=None),
            "settle_seconds": self._settle_ns / 1e9,
            "routes": _summed(rows, "routes"),
            "flags": _flags(rows),
            "stood_still_seconds": round(self.stood_still_seconds, 3),
        }
        found["cannot_see"] = self._cannot_see(found)
        if ping_pong and found["service"]:
            found["one_way"] = {
                basis: {name: value // 2 for name, value in found[basis]["percentiles"].items()}
                for basis in ("response", "service")
            }
        return found

    def _jitter(self) -> dict[str, Any] | None:
        values = np.concatenate(self._ipdv) if self._ipdv else np.zeros(0, np.int64)
        if not len(values):
            return None
        return {
            "percentiles": percentiles_of(np.abs(values)),
            "max_ns": int(values.max()),
            "min_ns": int(values.min()),
            "rfc3550_ns": max((row["jitter"]["rfc3550_ns"] for row in self.rows if row["jitter"]), default=0),
        }

    def _rate(self, rows: list[WindowRow]) -> dict[str, float | None] | None:
        """Returns messages a second: as asked for, and as delivered from the first arrival to the last."""
        first, last = self._arrived or (0, 0)
        if first == last:
            return None
        seconds = (last - first) / 1e9
        return {
            "asked": None if self._unpaced else self._asked(rows),
            "got": round((self._arrivals - 1) / seconds, 3),
            "seconds": round(seconds, 3),
        }

    def _asked(self, rows: list[WindowRow]) -> float | None:
        """The rate due in whole seconds; in a shorter ping, from its first message to its last."""
        whole = [row for row in rows if row["due"]][1:-1]  # start and end cut the others
        if whole:
            return round(sum(row["due"] for row in whole) * 1e9 / sum(row["window_ns"] for row in whole), 3)
        (first, intended), (last, last_intended) = self._span
        if last_intended <= intended:
            return None
        return round((last - first) * 1e9 / (last_intended - intended), 3)

    def _cannot_see(self, found: dict[str, Any]) -> dict[str, float] | None:
        sent, rate = found["sent"], found["rate"]
        if not sent or not rate:
            return None
        # With n messages and none lost, a share of loss above 3/n would have shown in 95 of 100 cases.
        return {"loss_ratio": min(1.0, 3 / sent), "gap_seconds": round(1 / rate["got"], 6)}


def _flags(rows: list[WindowRow]) -> list[str]:
    """Flags of all windows, without those of a receiver that left when all had arrived: it missed nothing."""
    found = {flag for row in rows for flag in row["flags"]}
    if not any(row["classes"]["unobserved"] for row in rows):
        found -= {"receiver_gap", "members_missing"}
    return sorted(found)


def _summed(rows: list[WindowRow], name: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row[name])  # type: ignore[literal-required]  # a name of the row's own
    return dict(total)


def _merged(parts: list[Latency | None]) -> Latencies | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    histogram = Histogram()
    for part in there:
        histogram.add(decode_histogram(part["hdr"]))
    return merged(histogram, there)
