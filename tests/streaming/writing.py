"""Records written by hand, in seconds: `Writer` is an end, and each call the next record of it.

Time 0 is the beginning of a window. `feed` gives them to a path's state as soon as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from by_hand import ledger_rows, received_rows

from collectors.config.paths import Rules
from collectors.contract.record_codec import decode, encode
from collectors.contract.records import SECOND_NS, Clock, Gap, Header, Outcome, Record, Span
from collectors.contract.window_rows import WindowRow, decode_window
from streaming.accounting import PathState

T0 = 1_700_000_000
RULES = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 900 * SECOND_NS)


def ns(seconds: float) -> int:
    """Test time to ns, exactly to the microsecond."""
    return T0 * SECOND_NS + round(seconds * 1_000_000) * 1_000


class Path:
    """A path's state, and all its rows."""

    def __init__(self, rules: Rules = RULES, **about: Any) -> None:
        self.state = PathState("p", rules)
        self.rows: list[WindowRow] = []
        self.about = {"senders": 1, "receivers": 1, **about}
        self._appended_ns = ns(0)
        self._broker_ahead_ns = 0
        self._runs = 0
        self._senders: list[str] = []

    def end(self, role: str, name: str = "", *, start: float = 0.0, run: str = "") -> Writer:
        self._runs += 1
        writer = Writer(self, role, name or f"{role}-0", run or f"{self._runs:016x}", start)
        if role == "sender":
            self._senders.append(writer.run)
        return writer

    def clock(self) -> dict[str, Clock]:
        """All on one host."""
        return {run: Clock(0, 0) for run in self._senders}

    def feed(self, record: Record) -> list[WindowRow]:
        """Over the wire, as any record comes."""
        again = decode(encode(record.header, record.received or record.ledger))
        self._pass_time(record.header)
        found = [
            decode_window(row) for row in self.state.apply(again, self._appended_ns + self._broker_ahead_ns)
        ]
        self.rows += found
        return found

    def outage(self, until: float) -> None:
        """Kafka takes nothing until then; what is fed next, it takes all at once."""
        self._appended_ns = ns(until)

    def step_broker_clock(self, seconds: float) -> None:
        """The clock by which Kafka tells append times is set."""
        self._broker_ahead_ns += ns(seconds) - ns(0)

    def _pass_time(self, until: Header) -> None:
        """Kafka goes on to take records of the path, one each second: of a warm-up, which changes nothing."""
        warming = until._replace(kind="alive", role="sender", name="", run="0" * 16, warmup=True)
        since_ns = max(self._appended_ns, until.frontier_ns - 120 * SECOND_NS)
        for append_ns in range(since_ns, until.frontier_ns, SECOND_NS):
            self.state.apply(Record(warming), append_ns + self._broker_ahead_ns)
        self._appended_ns = max(until.frontier_ns, self._appended_ns)

    def row(self, start: float, revision: int | None = None) -> WindowRow:
        """The newest row of a window, or that revision."""
        found = [row for row in self.rows if row["window_start_ns"] == ns(start)]
        if revision is not None:
            found = [row for row in found if row["revision"] == revision]
        return found[-1]

    def revisions(self, start: float) -> list[int]:
        return [row["revision"] for row in self.rows if row["window_start_ns"] == ns(start)]


class Writer:
    """One end."""

    def __init__(self, path: Path, role: str, name: str, run: str, start: float) -> None:
        self.path, self.role, self.name, self.run, self.start = path, role, name, run, start
        self.number = 0

    def header(self, kind: str, until: float, **more: Any) -> Header:
        fields = {
            "mesh": "m",
            "path": "p",
            "address": "a",
            "source": "east",
            "target": "west",
            **self.path.about,
            "role": self.role,
            "name": self.name,
            "run": self.run,
            "number": self.number,
            "observed_from_ns": ns(self.start),
            "frontier_ns": ns(until),
            "clock": self.path.clock() if self.role == "receiver" else {},
            **more,
        }
        self.number += 1
        return Header(kind=kind, **fields)

    def alive(self, until: float, **more: Any) -> list[WindowRow]:
        return self.path.feed(Record(self.header("alive", until, **more)))

    def bye(self, until: float) -> list[WindowRow]:
        return self.path.feed(Record(self.header("bye", until)))

    def ledger(
        self, second: int, runs: Sequence[tuple[int, int, Outcome]], until: float, **more: Any
    ) -> list[WindowRow]:
        fields = {"stream": self.run, "due": sum(run[1] for run in runs), "second": T0 + second, **more}
        return self.path.feed(Record(self.header("ledger", until, **fields), ledger=ledger_rows(runs)))

    def received(
        self,
        stream: Writer | str,
        second: int,
        seqs: Iterable[int],
        until: float,
        *,
        sent: Sequence[float] | None = None,
        latency: Sequence[float] | float = 0.001,
        waited: float = 0.0,
        ipdv: Sequence[int | None] | None = None,
        flags: Sequence[int] | None = None,
        **more: Any,
    ) -> list[WindowRow]:
        """Messages of a second, each sent 10 ms after the one before; `waited` before they were sent."""
        numbers = list(seqs)
        at = [second + 0.01 * place for place in range(len(numbers))] if sent is None else list(sent)
        delays = [latency] * len(numbers) if isinstance(latency, float) else list(latency)
        rows = received_rows(
            numbers,
            [ns(time - waited) for time in at],
            [ns(time) for time in at],
            [ns(time + delay) for time, delay in zip(at, delays, strict=True)],
            [None] * len(numbers) if ipdv is None else ipdv,
            [0] * len(numbers) if flags is None else flags,
        )
        run = stream if isinstance(stream, str) else stream.run
        fields = {"stream": run, "second": T0 + second, **more}
        return self.path.feed(Record(self.header("received", until, **fields), received=rows))

    def skip(self, count: int = 1) -> None:
        """Records that never come."""
        self.number += count


def gap(first: int, last: int, since: float, until: float) -> Gap:
    return Gap(first, last, ns(since), ns(until))


def span(since: float, until: float) -> Span:
    return Span(ns(since), ns(until))


def pair(path: Path | None = None) -> tuple[Path, Writer, Writer]:
    """A path with one sender and one receiver, both there from the beginning; their records 0 say so."""
    path = path or Path()
    sender, receiver = path.end("sender"), path.end("receiver")
    finish(sender, receiver, until=0.0)
    return path, sender, receiver


def finish(*ends: Writer, until: float = 16.0) -> None:
    """Let time pass: by default, until the first window has settled."""
    for end in ends:
        end.alive(until)
