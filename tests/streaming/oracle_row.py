"""A row of the oracle's: counted anew from plain lists. See oracle.py."""

# ruff: noqa: C901, PLR0912, PLR0915 -- one rule after the other, as the contract tells them

from __future__ import annotations

from math import isqrt
from typing import Any

from oracle_parts import OracleEnd, OracleWindow, Row

from collectors.config.paths import Rules

SECOND = 1_000_000_000
REFUSALS = ("rejected", "released", "modified")
QUANTILES = {"50": 2, "90": 10, "95": 20, "99": 100, "99.9": 1_000, "99.99": 10_000}
CLASSES = ("received", "refused", "lost", "unobserved")
DOUBTFUL = {
    "clock_unknown",
    "dead_letters",
    "ledger_incomplete",
    "members_missing",
    "unobserved",
    "unexpected",
}


class RowOracle:
    """Ends, and what they say of a window."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ends: dict[tuple[str, str, str], OracleEnd] = {}
        self.outages: dict[str, int] = {}
        self.senders = self.receivers = 0
        self.passed = 0  # append time, but for what it stood still
        self.appended: int | None = None
        self.resumed: int | None = None

    @property
    def newest(self) -> int:
        return max((end.newest for end in self.ends.values()), default=0)

    def life(self, end: OracleEnd) -> tuple[int, int | None, int | None]:
        """Start, stop if it ended, and since when it is silent if it ended so."""
        frontier = end.frontier
        if end.said_bye:
            return end.start, frontier, None
        gone = frontier + self.rules.gone_after_ns
        later = self.later(end)
        if later:
            successor = min(later, key=lambda e: (e.born, e.run))
            return end.start, min(max(frontier, successor.start), gone), frontier
        if self.newest >= gone and self.passed - end.heard >= self.rules.gone_after_ns:
            return end.start, gone, frontier
        return end.start, None, None

    def later(self, end: OracleEnd) -> list[OracleEnd]:
        """Ends of the same role and name that began later."""
        return [
            e
            for e in self.ends.values()
            if (e.role, e.name) == (end.role, end.name) and (e.born, e.run) > (end.born, end.run)
        ]

    @staticmethod
    def first_arrivals(window: OracleWindow) -> list[Row]:
        seen: set[tuple[str, int, int]] = set()
        found = []
        for row in window.rows:
            if (row.stream, row.second, row.seq) not in seen:
                seen.add((row.stream, row.second, row.seq))
                found.append(row)
        return found

    def blind(self, window: OracleWindow) -> tuple[list[OracleEnd], int, bool, int]:
        """Members; until when something may have arrived unobserved; a sender's gap; steady receivers."""
        start, deadline = window.start, window.start + self.rules.window_ns + self.rules.settle_ns
        members, blind, sender_gap, lives = [], 0, False, []
        alive = [(e.role, *self.life(e)[:2]) for e in self.ends.values()]
        born_senders = [
            a for role, a, b in alive if role == "sender" and a < deadline and (b is None or b > start)
        ]
        begin = max(start, min(born_senders, default=start))
        for end in self.ends.values():
            born, stop, silent = self.life(end)
            if not (born < deadline and (stop is None or stop > start)):
                continue
            members.append(end)
            gaps = [*end.missed(), *([(silent, stop)] if silent is not None and stop is not None else [])]
            if stop is None:
                gaps.append((end.frontier, deadline))
            gaps = [(a, b) for a, b in gaps if a < b and a < deadline and b > begin]
            if end.role == "sender":
                sender_gap = sender_gap or bool(gaps)
            else:
                blind = max([blind, *(min(b, deadline) for _, b in gaps)])
                lives.append((end.name, born, deadline if stop is None else stop))
        moment = self._last_without([(a, b) for _, a, b in lives], begin, deadline)
        if moment > begin:
            blind = max(blind, moment)
        steady = 0
        for name in {name for name, _, _ in lives}:
            own = [(a, b) for n, a, b in lives if n == name]
            steady += self._last_without(own, begin, deadline) <= begin
        return members, blind, sender_gap, steady

    @staticmethod
    def _last_without(lives: list[tuple[int, int]], start: int, deadline: int) -> int:
        """The last moment of that time at which none was there; `start` or earlier: there always was one."""
        moment = deadline
        while moment > start:
            covering = [a for a, b in lives if a < moment <= b]
            if not covering:
                return moment
            moment = min(covering)
        return moment

    def row(self, window: OracleWindow, *, at_first: bool) -> tuple[dict[str, Any], dict[Any, str]]:
        members, blind, sender_gap, steady = self.blind(window)
        arrivals = self.first_arrivals(window)
        received = {(r.stream, r.second, r.seq) for r in arrivals}
        classes: dict[Any, str] = {}
        refused = dict.fromkeys(REFUSALS, 0)
        lost = dict.fromkeys(("accepted", "presettled", "unsettled"), 0)
        lost_seconds: list[int] = []
        though_refused = unexpected = 0
        unledgered = False
        cells = sorted({(s, sec) for s, sec, _ in received} | set(window.ledgers), key=lambda c: c[1])
        before: dict[str, int] = {}  # of each stream: one more than the highest number known of the window
        for stream, second in cells:
            arrived = {seq for s, sec, seq in received if (s, sec) == (stream, second)}
            if (stream, second) in window.ledgers:
                told = dict(window.ledgers[stream, second][1])
            else:
                unledgered = True
                first = min([before.get(stream, min(arrived)), *arrived])
                told = dict.fromkeys(range(first, max(arrived) + 1), "?")
            for seq in set(told) | arrived:
                outcome = told.get(seq)
                if seq in arrived:
                    kind = "received"
                    though_refused += outcome in REFUSALS
                    unexpected += outcome is None
                elif outcome in REFUSALS:
                    kind = "refused"
                    refused[outcome] += 1
                elif second * SECOND < blind or outcome == "?":
                    kind = "unobserved"
                else:
                    kind = "lost"
                    lost[outcome] += 1
                    lost_seconds.append(second)
                classes[stream, second, seq] = kind
            known = [n + 1 for n in set(told) | arrived]
            if known:
                before[stream] = max([before.get(stream, 0), *known])
        detached = [span for end in members if end.role == "receiver" for span in end.detached]
        counts = {kind: sum(k == kind for k in classes.values()) for kind in CLASSES}
        moves: dict[str, int] = {}
        if not at_first:
            for key in set(classes) | set(window.classes0):
                a, b = window.classes0.get(key, "none"), classes.get(key, "none")
                if a != b:
                    moves[f"{a}>{b}"] = moves.get(f"{a}>{b}", 0) + 1
        outage = self._outage(window, classes, arrivals, members, at_first=at_first)
        headers = [h for h, _ in window.ledgers.values()]
        flags = set()
        if len({e.name for e in members if e.role == "sender"}) < self.senders:
            flags.add("members_missing")
        if steady < self.receivers:
            flags.add("members_missing")
        if sender_gap or unledgered:
            flags.add("ledger_incomplete")
        if blind > window.start:
            flags.add("receiver_gap")
        if counts["unobserved"]:
            flags.add("unobserved")
        if unexpected:
            flags.add("unexpected")
        streams = {stream for stream, _ in cells}
        if any(s not in e.clock for s in streams for e in members if e.role == "receiver"):
            flags.add("clock_unknown")
        if at_first:
            pairs = [e.clock[s] for s in streams for e in members if s in e.clock]
            window.clock = None
            if pairs:
                offset, bound = max(pairs, key=lambda pair: (pair[1], abs(pair[0]), pair[0]))
                window.clock = {"offset_ns": offset, "bound_ns": bound}
        slowest = None
        for r in arrivals:
            if slowest is None or r.received - r.intended > slowest["response_ns"]:
                slowest = {"stream": r.stream, "seq": r.seq, "response_ns": r.received - r.intended}
        routes: dict[str, int] = {}
        for header in window.headers:
            for route, count in header.routes.items():
                routes[route] = routes.get(route, 0) + count
        ipdv = [r.ipdv for r in arrivals if r.ipdv is not None]
        return {
            "window_start_ns": window.start,
            "revision": window.revision,
            "complete": not flags & DOUBTFUL,
            "flags": sorted(flags),
            "sent": len(classes),
            "classes": counts,
            "refused": refused,
            "lost": lost,
            "lost_detached": sum(
                any(a < (s + 1) * SECOND and b > s * SECOND for a, b in detached) for s in lost_seconds
            ),
            "received_though_refused": though_refused,
            "moves": moves,
            "late": sum(r.late for r in arrivals),
            "duplicate": len(window.rows) - len(arrivals),
            "redelivered": sum(bool(r.flags & 1) for r in window.rows),
            "reordered": sum(bool(r.flags & 2) for r in arrivals),
            "foreign": window.foreign,
            "unexpected": unexpected,
            "negative": sum(r.received < r.sent or r.received < r.intended for r in arrivals),
            "due": sum(h.due for h in headers),
            "unsent": {
                reason: sum(h.unsent.get(reason, 0) for h in headers)
                for reason in ("no_credit", "no_connection", "guard", "stalled")
            },
            "sent_bytes": sum(h.body_bytes for h in headers),
            "received_bytes": sum(h.body_bytes for h in window.headers),
            "response": _summary([r.received - r.intended for r in arrivals]),
            "service": _summary([r.received - r.sent for r in arrivals]),
            "jitter": None
            if not ipdv
            else {
                "count": len(ipdv),
                "max_ns": max(ipdv),
                "min_ns": min(ipdv),
                "rfc3550_ns": max(h.rfc3550_ns for h in window.headers),
                "percentiles": _percentiles([abs(v) for v in ipdv]),
            },
            "outage_ns": outage,
            "outage_since_ns": window.since,
            "stalled_ns": SECOND
            * len(
                {
                    second
                    for (stream, second), (h, told) in window.ledgers.items()
                    if h.due and not told and not any((s, sec) == (stream, second) for s, sec, _ in received)
                }
            ),
            "clock": window.clock,
            "slowest": slowest,
            "routes": routes,
            "members": [
                {"role": e.role, "name": e.name, "run": e.run}
                for e in sorted(members, key=lambda e: (e.role, e.name, e.run))
            ],
        }, classes

    def _outage(
        self,
        window: OracleWindow,
        classes: dict[Any, str],
        arrivals: list[Row],
        members: list[OracleEnd],
        *,
        at_first: bool,
    ) -> int:
        """The longest time between deliveries, of one stream, with something lost or refused between."""
        longest = 0
        sent_at = {(r.stream, r.second, r.seq): r.sent for r in arrivals}
        starts = {e.run: self.life(e)[0] for e in members if e.role == "sender"}
        streams = {key[0] for key in classes}
        for stream in streams:
            keys = sorted((key for key in classes if key[0] == stream), key=lambda key: key[2])
            seconds = [second for _, second, _ in keys]
            begin = max(window.start, starts.get(stream, min(seconds) * SECOND))
            end = min(window.start + self.rules.window_ns, (max(seconds) + 1) * SECOND)
            last, bad, delivered = begin, False, False
            for key in keys:
                if classes[key] == "received":
                    if bad:
                        longest = max(longest, sent_at[key] - last)
                    last, bad, delivered = sent_at[key], False, True
                elif classes[key] in {"lost", "refused"}:
                    bad = True
            if bad:
                longest = max(longest, end - last)
            if at_first:
                if not bad:
                    self.outages.pop(stream, None)
                elif delivered or stream not in self.outages:
                    self.outages[stream] = last
        if at_first:
            told = {stream for stream, _ in window.ledgers} | {r.stream for r in window.rows}
            for stream in set(self.outages) - told - set(starts):
                del self.outages[stream]
            window.since = min(self.outages.values(), default=None)
        return longest


def _summary(values: list[int]) -> dict[str, Any] | None:
    if not values:
        return None
    count, total = len(values), sum(values)
    squares = sum(value * value for value in values)
    return {
        "count": count,
        "min_ns": min(values),
        "max_ns": max(values),
        "mean_ns": (2 * total + count) // (2 * count),
        "std_ns": isqrt(count * squares - total * total) // count,
        "percentiles": _percentiles(values),
    }


def _percentiles(values: list[int]) -> dict[str, int]:
    """The value at the rank: as many are above it as the share allows, and no more."""
    ordered = sorted(values)
    return {
        name: ordered[len(ordered) - len(ordered) // of - 1]
        for name, of in QUANTILES.items()
        if len(ordered) >= of
    }
