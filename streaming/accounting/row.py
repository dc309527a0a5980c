"""The row of a window, from what is known of its messages and ends."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from collectors.config.paths import Rules
from collectors.contract import window_rows
from collectors.contract.records import SECOND_NS, UNSENT_REASONS, Header
from collectors.contract.window_rows import CLASSES, ClockState, Jitter, Named, Slowest, WindowRow
from streaming.accounting import classes
from streaming.accounting.classes import ClassCounts
from streaming.accounting.latencies import JITTER
from streaming.accounting.outage import OpenOutages, outage
from streaming.accounting.path_ends import Coverage
from streaming.accounting.window import Window

# What a row may be flagged with, and whether that makes a number in it doubtful.
FLAGS: Final[dict[str, bool]] = {
    "clock_unknown": True,  # a receiver's times were compared as they are
    "dead_letters": True,  # a record of this window was refused
    "ledger_incomplete": True,  # `sent` may be too low, an outcome out of date
    "members_missing": True,  # fewer senders than configured, or receivers that were there all the time
    "receiver_gap": False,  # something may have arrived unobserved ...
    "unobserved": True,  # ... and messages are missing that may have
    "unexpected": True,  # numbers arrived that no ledger covers
}


@dataclass(slots=True)
class PathInfo:
    """What the newest record of a path says of the path itself."""

    mesh: str
    path: str
    address: str
    source: str
    target: str
    presettled: bool
    senders: int
    receivers: int

    @classmethod
    def of(cls, header: Header) -> PathInfo:
        return cls(
            header.mesh,
            header.path,
            header.address,
            header.source,
            header.target,
            header.presettled,
            header.senders,
            header.receivers,
        )

    def named(self) -> Named:
        return {
            "v": window_rows.VERSION,
            "mesh": self.mesh,
            "path": self.path,
            "address": self.address,
            "source": self.source,
            "target": self.target,
            "presettled": self.presettled,
        }


class NewestInfo:
    """What the newest record of a path says of it; found out when it is asked for, as that is rare."""

    __slots__ = ("_header", "_info")

    def __init__(self) -> None:
        self._info: PathInfo | None = None
        self._header: Header | None = None

    def take(self, header: Header) -> None:
        """Take in the path's next record."""
        self._header = header

    def info(self) -> PathInfo | None:
        """Returns None before the first record."""
        if self._header is not None:
            self._info, self._header = PathInfo.of(self._header), None
        return self._info

    def dump(self) -> list[Any] | None:
        info = self.info()
        return None if info is None else [getattr(info, name) for name in PathInfo.__slots__]

    def load(self, raw: list[Any] | None) -> None:
        self._info = None if raw is None else PathInfo(*raw)


def final_row(
    path: PathInfo, rules: Rules, window: Window, coverage: Coverage, outages: OpenOutages | None
) -> WindowRow:
    """Returns the window's row, always with revision 0.

    `outages` are given where the window becomes final: they are brought up to date, and what is fixed then is
    set in the window. For a revision they are None.
    """
    samples, counts = window.samples, window.counts
    samples.flush()
    counted = classes.count_classes(window, coverage.blind_ns)
    _count_detached(counted, coverage)
    outage_ns, moves = _undelivered(window, rules, coverage, counted, outages)
    if outages is not None:
        # An outage ends with its sender.
        outages.end(outages.since_ns.keys() - coverage.lives.keys() - window.cells.keys())
        window.outage_since_ns = min(outages.since_ns.values(), default=None)
        window.clock = _clock(window, coverage)
    ledgers = [cell.ledger for cells in window.cells.values() for cell in cells.values() if cell.ledger]
    unsent: dict[str, int] = {
        reason: sum(each.unsent.get(reason, 0) for each in ledgers) for reason in UNSENT_REASONS
    }
    flags = _flags(path, window, coverage, counted)
    response, service, jitter = samples.latencies.for_row()
    return {
        **path.named(),
        "window_start_ns": window.start_ns,
        "window_ns": rules.window_ns,
        "rules": rules.hash(),
        "revision": 0,
        "complete": not any(FLAGS[flag] for flag in flags),
        "flags": flags,
        "sent": counted.sent,
        "classes": dict(zip(CLASSES, counted.by_class, strict=True)),
        "refused": {name: counted.missing.get(name, 0) for name in classes.REFUSALS},
        "lost": {name: counted.missing.get(name, 0) for name in classes.LOSSES},
        "lost_detached": counted.lost_detached,
        "received_though_refused": counted.received_though_refused,
        "moves": moves,
        "late": counts["late"],
        "duplicate": counts["duplicate"],
        "redelivered": counts["redelivered"],
        "reordered": counts["reordered"],
        "foreign": counts["foreign"],
        "unexpected": counted.unexpected,
        "negative": samples.negative,
        "due": sum(each.due for each in ledgers),
        "unsent": unsent,
        "sent_bytes": sum(each.body_bytes for each in ledgers),
        "received_bytes": counts["received_bytes"],
        "response": response,
        "service": service,
        "jitter": _jitter(window, jitter),
        "outage_ns": outage_ns,
        "outage_since_ns": window.outage_since_ns,
        "stalled_ns": _stalled(window),
        "clock": _clock_state(window.clock),
        "slowest": _slowest(samples.slowest),
        "routes": dict(window.routes),
        "members": [{"role": end.role, "name": end.name, "run": end.run} for end in coverage.members],
    }


def _undelivered(
    window: Window, rules: Rules, coverage: Coverage, counted: ClassCounts, outages: OpenOutages | None
) -> tuple[int, dict[str, int]]:
    """Returns the longest outage and the moves since revision 0; mostly there is neither."""
    if not counted.by_class[classes.LOST] and not counted.by_class[classes.REFUSED] and window.origin is None:
        if outages is not None:
            covered = (
                name for name, cells in window.cells.items() if any(map(classes.covered_to, cells.values()))
            )
            outages.end(covered)
        return 0, {}
    parts = classes.segments(window, coverage.blind_ns)
    moves = {} if window.origin is None else classes.all_moves(window.origin, parts)
    return _longest_outage(window, rules, coverage, parts, outages), moves


def digest(text: bytes) -> str:
    """Returns what differs where two rows of revision 0 differ."""
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _count_detached(counted: ClassCounts, coverage: Coverage) -> None:
    for second, count in counted.lost_by_second.items():
        start_ns = second * SECOND_NS
        if any(first < start_ns + SECOND_NS and last > start_ns for first, last in coverage.detached):
            counted.lost_detached += count


def _flags(path: PathInfo, window: Window, coverage: Coverage, counted: ClassCounts) -> list[str]:
    flags = set(window.flags)
    if coverage.senders < path.senders or coverage.receivers < path.receivers:
        flags.add("members_missing")
    if coverage.sender_gap or counted.unledgered:
        flags.add("ledger_incomplete")
    if coverage.blind_ns > window.start_ns:
        flags.add("receiver_gap")
    if counted.by_class[classes.UNOBSERVED]:
        flags.add("unobserved")
    if counted.unexpected:
        flags.add("unexpected")
    receivers = [end for end in coverage.members if end.role == "receiver"]
    if any(stream not in end.clock for stream in window.cells for end in receivers):
        flags.add("clock_unknown")
    return sorted(flags)


def _longest_outage(
    window: Window,
    rules: Rules,
    coverage: Coverage,
    parts: dict[str, dict[int, classes.Ints]],
    outages: OpenOutages | None,
) -> int:
    longest = 0
    window_end_ns = window.start_ns + rules.window_ns
    for stream, cells in window.cells.items():
        sending = [second for second in cells if len(parts[stream][second])]
        if not sending:
            continue
        life = coverage.lives.get(stream)
        start_ns = max(window.start_ns, life.start_ns if life else min(sending) * SECOND_NS)
        end_ns = min(window_end_ns, (max(sending) + 1) * SECOND_NS)
        found = outage(cells, parts[stream], start_ns, end_ns)
        longest = max(longest, found.longest_ns)
        if outages is not None:
            outages.go_on(stream, found)
    return longest


def _clock(window: Window, coverage: Coverage) -> tuple[int, int] | None:
    """Returns offset and bound of the pair of a receiver and a stream with the largest bound."""
    pairs = [end.clock[stream] for end in coverage.members for stream in window.cells if stream in end.clock]
    return max(pairs, key=lambda pair: (pair[1], abs(pair[0]), pair[0]), default=None)


def _clock_state(clock: tuple[int, int] | None) -> ClockState | None:
    return None if clock is None else {"offset_ns": clock[0], "bound_ns": clock[1]}


def _slowest(found: tuple[str, int, int] | None) -> Slowest | None:
    return None if found is None else {"stream": found[0], "seq": found[1], "response_ns": found[2]}


def _stalled(window: Window) -> int:
    """Returns the time of seconds in which a sender had messages due and sent none."""
    stalled = {
        second
        for cells in window.cells.values()
        for second, cell in cells.items()
        if cell.ledger is not None
        and cell.ledger.due
        and not len(cell.ledger.first)
        and not len(cell.received.table)
    }
    return len(stalled) * SECOND_NS


def _jitter(window: Window, percentiles: dict[str, int]) -> Jitter | None:
    totals = window.samples.latencies.totals[JITTER]
    if not totals.count:
        return None
    return {
        "count": totals.count,
        "percentiles": percentiles,
        "max_ns": totals.largest,
        "min_ns": totals.least,
        "rfc3550_ns": window.rfc3550_ns,
    }
