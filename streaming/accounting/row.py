"""The row of a window: what is known of it, counted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from collectors.config.paths import Rules
from collectors.contract import window_rows
from collectors.contract.records import SECOND_NS, UNSENT_REASONS, Header
from collectors.contract.window_rows import CLASSES, ClockState, Jitter, Named, Slowest, WindowRow
from streaming.accounting import classes
from streaming.accounting.classes import Tally
from streaming.accounting.latencies import JITTER
from streaming.accounting.members import View
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
class About:
    """What a path's newest record says of the path."""

    mesh: str
    path: str
    address: str
    source: str
    target: str
    presettled: bool
    senders: int
    receivers: int

    @classmethod
    def of(cls, header: Header) -> About:
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


@dataclass(slots=True)
class Outages:
    """Carried from window to window: since when a stream's messages did not arrive."""

    since_ns: dict[str, int]

    def end(self, streams: Iterable[str]) -> None:
        for stream in streams:
            self.since_ns.pop(stream, None)


def final(about: About, rules: Rules, window: Window, view: View, outages: Outages | None) -> WindowRow:
    """The window's row, with revision 0; `outages` is given, and brought on, where it is."""
    samples, counts = window.samples, window.counts
    samples.flush()
    tally = classes.tally(window, view.blind_ns)
    _count_detached(tally, view)
    outage_ns, moves = _undelivered(window, rules, view, tally, outages)
    if outages is not None:
        # Of a sender that is there no more nothing is missing any longer.
        outages.end(outages.since_ns.keys() - view.lives.keys() - window.cells.keys())
        window.outage_since_ns = min(outages.since_ns.values(), default=None)
        window.clock = _clock(window, view)
    told = [cell.told for cells in window.cells.values() for cell in cells.values() if cell.told]
    unsent: dict[str, int] = {
        reason: sum(each.unsent.get(reason, 0) for each in told) for reason in UNSENT_REASONS
    }
    flags = _flags(about, window, view, tally)
    response, service, jitter = samples.measures.figures()
    return {
        **about.named(),
        "window_start_ns": window.start_ns,
        "window_ns": rules.window_ns,
        "rules": rules.hash(),
        "revision": 0,
        "complete": not any(FLAGS[flag] for flag in flags),
        "flags": flags,
        "sent": tally.sent,
        "classes": dict(zip(CLASSES, tally.classes, strict=True)),
        "refused": {name: tally.missing.get(name, 0) for name in classes.REFUSALS},
        "lost": {name: tally.missing.get(name, 0) for name in classes.LOSSES},
        "lost_detached": tally.lost_detached,
        "received_though_refused": tally.received_though_refused,
        "moves": moves,
        "late": counts["late"],
        "duplicate": counts["duplicate"],
        "redelivered": counts["redelivered"],
        "reordered": counts["reordered"],
        "foreign": counts["foreign"],
        "unexpected": tally.unexpected,
        "negative": samples.negative,
        "due": sum(each.due for each in told),
        "unsent": unsent,
        "sent_bytes": sum(each.body_bytes for each in told),
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
        "members": [{"role": end.role, "name": end.name, "run": end.run} for end in view.members],
    }


def _undelivered(
    window: Window, rules: Rules, view: View, tally: Tally, outages: Outages | None
) -> tuple[int, dict[str, int]]:
    """The longest outage, and what moved between classes since revision 0: mostly there is neither."""
    if not tally.classes[classes.LOST] and not tally.classes[classes.REFUSED] and window.origin is None:
        if outages is not None:
            covered = (
                name for name, cells in window.cells.items() if any(map(classes.covered_to, cells.values()))
            )
            outages.end(covered)
        return 0, {}
    parts = classes.segments(window, view.blind_ns)
    moves = {} if window.origin is None else classes.all_moves(window.origin, parts)
    return _outage(window, rules, view, parts, outages), moves


def digest(text: bytes) -> str:
    """Tells whether a row, told with revision 0, is other than the one before."""
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _count_detached(tally: Tally, view: View) -> None:
    for second, count in tally.lost_by_second.items():
        start_ns = second * SECOND_NS
        if any(first < start_ns + SECOND_NS and last > start_ns for first, last in view.detached):
            tally.lost_detached += count


def _flags(about: About, window: Window, view: View, tally: Tally) -> list[str]:
    flags = set(window.flags)
    if view.senders < about.senders or view.receivers < about.receivers:
        flags.add("members_missing")
    if view.sender_gap or tally.unledgered:
        flags.add("ledger_incomplete")
    if view.blind_ns > window.start_ns:
        flags.add("receiver_gap")
    if tally.classes[classes.UNOBSERVED]:
        flags.add("unobserved")
    if tally.unexpected:
        flags.add("unexpected")
    receivers = [end for end in view.members if end.role == "receiver"]
    if any(stream not in end.clock for stream in window.cells for end in receivers):
        flags.add("clock_unknown")
    return sorted(flags)


def _outage(
    window: Window,
    rules: Rules,
    view: View,
    parts: dict[str, dict[int, classes.Ints]],
    outages: Outages | None,
) -> int:
    longest = 0
    window_end_ns = window.start_ns + rules.window_ns
    for stream, cells in window.cells.items():
        sending = [second for second in cells if len(parts[stream][second])]
        if not sending:
            continue
        life = view.lives.get(stream)
        start_ns = max(window.start_ns, life.start_ns if life else min(sending) * SECOND_NS)
        end_ns = min(window_end_ns, (max(sending) + 1) * SECOND_NS)
        found = classes.outage(cells, classes.joined(parts[stream]), start_ns, end_ns)
        longest = max(longest, found.longest_ns)
        if outages is None:
            continue
        if found.since_ns is None:
            outages.since_ns.pop(stream, None)
        elif found.delivered:
            outages.since_ns[stream] = found.since_ns
        else:
            outages.since_ns.setdefault(stream, found.since_ns)
    return longest


def _clock(window: Window, view: View) -> tuple[int, int] | None:
    """Of the pairs of a receiver and a stream in the window, that with the largest bound."""
    pairs = [end.clock[stream] for end in view.members for stream in window.cells if stream in end.clock]
    return max(pairs, key=lambda pair: (pair[1], abs(pair[0]), pair[0]), default=None)


def _clock_state(clock: tuple[int, int] | None) -> ClockState | None:
    return None if clock is None else {"offset_ns": clock[0], "bound_ns": clock[1]}


def _slowest(told: tuple[str, int, int] | None) -> Slowest | None:
    return None if told is None else {"stream": told[0], "seq": told[1], "response_ns": told[2]}


def _stalled(window: Window) -> int:
    """Seconds in which a sender had messages due and sent none."""
    stalled = {
        second
        for cells in window.cells.values()
        for second, cell in cells.items()
        if cell.told is not None and cell.told.due and not len(cell.told.first) and not len(cell.runs.table)
    }
    return len(stalled) * SECOND_NS


def _jitter(window: Window, percentiles: dict[str, int]) -> Jitter | None:
    measure = window.samples.measures.of[JITTER]
    if not measure.count:
        return None
    return {
        "count": measure.count,
        "percentiles": percentiles,
        "max_ns": measure.largest,
        "min_ns": measure.least,
        "rfc3550_ns": window.rfc3550_ns,
    }
