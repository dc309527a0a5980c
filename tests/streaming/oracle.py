"""The accounting contract, slow and obvious: plain lists and dictionaries, everything counted anew each time.

Written from streaming/accounting.md, and sharing no code with what it judges. It covers what a row says but
for labels and encodings; percentiles are exact ones.
"""

# ruff: noqa: C901, PLR0912, PLR0915 -- one rule after the other, as the contract tells them

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import Any

from collectors.paths import Rules
from collectors.records import OUTCOMES, Header, Record

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


@dataclass
class OracleEnd:
    role: str
    name: str
    run: str
    born: int
    base: int
    frontiers: dict[int, int] = field(default_factory=dict)  # by record number
    gone_numbers: set[int] = field(default_factory=set)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    holes: list[tuple[int, int]] = field(default_factory=list)  # since when, and the first record after it
    detached: list[tuple[int, int]] = field(default_factory=list)
    bye: int | None = None
    clock: dict[str, tuple[int, int]] = field(default_factory=dict)
    late_by: int = 0
    early_by: int = 0

    @property
    def start(self) -> int:
        return self.born - self.early_by

    def contiguous(self) -> tuple[int, int]:
        """The first number missing, and the frontier before it."""
        number, frontier = self.base, -(10**30)
        while number in self.frontiers or number in self.gone_numbers:
            frontier = max(frontier, self.frontiers.get(number, frontier))
            number += 1
        return number, frontier

    @property
    def frontier(self) -> int:
        return self.contiguous()[1]

    def missed(self) -> list[tuple[int, int]]:
        """Gaps, and of holes: until the first record after them that moved the frontier."""
        found = list(self.gaps)
        missing = self.contiguous()[0]
        for since, number in self.holes:
            after = self.frontiers[number]
            moved = [f for n, f in self.frontiers.items() if number < n < missing and f > after]
            found.append((since, min(moved, default=after)))
        return found


@dataclass
class Row:
    """One row of received samples, as it came."""

    stream: str
    seq: int
    second: int
    intended: int
    sent: int
    received: int
    ipdv: int | None
    flags: int
    late: bool


@dataclass
class OracleWindow:
    start: int
    rows: list[Row] = field(default_factory=list)
    headers: list[Header] = field(default_factory=list)  # of received records with rows
    ledgers: dict[tuple[str, int], tuple[Header, list[tuple[int, str]]]] = field(default_factory=dict)
    foreign: int = 0
    final: bool = False
    revision: int = 0
    bases: dict[str, int] = field(default_factory=dict)
    classes0: dict[Any, str] = field(default_factory=dict)
    since: int | None = None
    clock: dict[str, int] | None = None
    newest: dict[str, Any] = field(default_factory=dict)


class Oracle:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ends: dict[tuple[str, str, str], OracleEnd] = {}
        self.windows: dict[int, OracleWindow] = {}
        self.first: int | None = None
        self.next = 0
        self.kept = 0
        self.not_before = 0
        self.stepped = 0
        self.covered: dict[str, int] = {}
        self.outages: dict[str, int] = {}
        self.senders = self.receivers = 0
        self.before_start = self.beyond_horizon = self.repeats = 0

    # -- a record

    def feed(self, record: Record) -> list[dict[str, Any]]:
        header = record.header
        key = header.role, header.name, header.run
        end = self.ends.get(key)
        if end is None:
            base = header.number
            for gap in header.gaps:
                if gap.last == base - 1:
                    base = gap.first
            end = OracleEnd(*key, header.observed_from_ns, base)
            rows_end = (header.second + 1) * SECOND if header.kind in {"received", "ledger"} else 0
            if max(header.frontier_ns, rows_end) + self.rules.gone_after_ns < self.kept:
                if record.received is not None and len(record.received.seq):
                    if header.second * SECOND < (self.first or 0):
                        self.before_start += len(record.received.seq)
                    else:
                        self.beyond_horizon += len(record.received.seq)
                return []
        elif header.number in end.frontiers:
            self.repeats += 1
            return []
        self.senders, self.receivers = header.senders, header.receivers
        self._data(record)
        living_senders = [
            e.run for e in self.ends.values() if e.role == "sender" and self._life(e)[1] is None
        ]
        self._header(end, header, living_senders)
        if key not in self.ends:
            self.ends[key] = end
            if end.base:
                first = end.frontiers[end.base]
                end.holes.append((end.start, end.base))
                if self.first is None:
                    self.not_before = max(self.not_before, first + self.rules.gone_after_ns)
        self._give_up()
        if header.foreign:
            window = self._window(end.frontier, 0)
            if window:
                window.foreign += header.foreign
        return self._advance()

    def _data(self, record: Record) -> None:
        header = record.header
        if record.received is not None and len(record.received.seq):
            r = record.received
            window = self._window(header.second * SECOND, len(r.seq))
            if window is None:
                return
            window.headers.append(header)
            for i in range(len(r.seq)):
                window.rows.append(
                    Row(
                        header.stream,
                        int(r.seq[i]),
                        header.second,
                        int(r.intended_ns[i]),
                        int(r.sent_ns[i]),
                        int(r.received_ns[i]),
                        int(r.ipdv_ns[i]) if r.has_ipdv[i] else None,
                        int(r.flags[i]),
                        window.final,
                    )
                )
        if record.ledger is not None:
            window = self._window(header.second * SECOND, 0)
            if window is None:
                return
            known = window.ledgers.get((header.stream, header.second))
            if known is None or header.revision >= known[0].revision:
                numbers = [
                    (int(first) + i, OUTCOMES[outcome])
                    for first, length, outcome in zip(*record.ledger, strict=True)
                    for i in range(int(length))
                ]
                window.ledgers[header.stream, header.second] = header, numbers

    def _window(self, time_ns: int, samples: int) -> OracleWindow | None:
        start = time_ns // self.rules.window_ns * self.rules.window_ns
        if self.first is not None and start < self.first and start < self.kept:
            self.before_start += samples
            return None
        if self.first is not None and start < self.kept:
            self.beyond_horizon += samples
            return None
        return self.windows.setdefault(start, OracleWindow(start))

    def _header(self, end: OracleEnd, header: Header, living_senders: list[str]) -> None:
        if header.clock and end.role == "receiver":
            end.clock = {stream: (c.offset_ns, c.bound_ns) for stream, c in header.clock.items()}
            pairs = [pair for stream, pair in end.clock.items() if stream in living_senders]
            pairs = pairs or list(end.clock.values())
            end.late_by = max(offset + bound for offset, bound in pairs)
            end.early_by = min(offset - bound for offset, bound in pairs)
        for gap in header.gaps:
            until = max(gap.to_ns, header.frontier_ns)
            end.gaps.append((gap.from_ns - end.late_by, until - end.early_by))
            if gap.to_ns >= header.frontier_ns:
                end.holes.append((gap.to_ns - end.late_by, header.number))
            for number in range(gap.first, gap.last + 1):
                end.frontiers.setdefault(number, gap.to_ns - end.late_by)
        for span in header.detached:
            end.detached.append((span.from_ns - end.late_by, span.to_ns - end.early_by))
        end.frontiers[header.number] = header.frontier_ns - end.late_by
        if header.kind == "bye":
            end.bye = header.number

    # -- ends

    @property
    def newest(self) -> int:
        return max((max(e.frontiers.values()) for e in self.ends.values()), default=0)

    def _give_up(self) -> None:
        """Records missing for as long as an end may be silent are lost."""
        for end in self.ends.values():
            while True:
                missing, frontier = end.contiguous()
                later = [n for n in end.frontiers if n > missing]
                if not later or self.newest < frontier + self.rules.gone_after_ns:
                    break
                following = min(later)
                end.gone_numbers |= set(range(missing, following))
                end.holes.append((frontier, following))

    def _life(self, end: OracleEnd) -> tuple[int, int | None, int | None]:
        """Start, stop if it ended, and since when it is silent if it ended so."""
        missing, frontier = end.contiguous()
        if end.bye is not None and missing > end.bye:
            return end.start, frontier, None
        gone = frontier + self.rules.gone_after_ns
        later = [
            e
            for e in self.ends.values()
            if (e.role, e.name) == (end.role, end.name) and (e.born, e.run) > (end.born, end.run)
        ]
        if later:
            successor = min(later, key=lambda e: (e.born, e.run))
            return end.start, min(max(frontier, successor.start), gone), frontier
        if self.newest >= gone:
            return end.start, gone, frontier
        return end.start, None, None

    # -- finality

    def _advance(self) -> list[dict[str, Any]]:
        length, settle = self.rules.window_ns, self.rules.settle_ns
        lives = {key: self._life(end) for key, end in self.ends.items()}
        living = [self.ends[key] for key, life in lives.items() if life[1] is None]
        frontier = min((max(e.frontier, e.start) for e in living), default=None)

        def is_final(start: int) -> bool:
            """All members have measured until the window has settled, or have ended."""
            deadline = start + length + settle
            if not living:
                return any((life[1] or 0) > start for life in lives.values())
            return all(max(e.frontier, e.start) >= deadline for e in living)

        if frontier is None:
            settled = max((life[1] or 0 for life in lives.values()), default=0)
        else:
            settled = frontier - settle - length + 1
        recent = max(settled - self.rules.horizon_ns, 0) // length * length
        rows: list[dict[str, Any]] = []
        if self.first is None:
            starts = [e.start for e in self.ends.values() if e.base == 0]
            start = -(-self.not_before // length) * length
            if starts:
                start = max(start, min(starts) // length * length)
            start = max(start, recent)
            if not is_final(start):
                return rows
            self.first = self.next = self.kept = start
            for early in [s for s in self.windows if s < start]:
                window = self.windows.pop(early)
                self.before_start += len(self._first_arrivals(window))
                self._cover(window)
        was_final = self.next
        while is_final(self.next):
            quiet = self.next not in self.windows and self.next < recent
            if quiet and not self._blind(OracleWindow(self.next))[0]:
                self.next += length
                self.kept = self.next
                continue
            window = self.windows.setdefault(self.next, OracleWindow(self.next))
            self.next += length
            window.final = True
            streams = {row.stream for row in window.rows} | {stream for stream, _ in window.ledgers}
            window.bases = {stream: self.covered.get(stream, 0) for stream in streams}
            row, classes = self.row(window, at_first=True)
            window.classes0, window.newest = classes, row
            self._cover(window)
            rows.append(row)
        self.kept = max(self.kept, self.next - -(-self.rules.horizon_ns // length) * length)
        for old in [s for s in self.windows if s < self.kept]:
            del self.windows[old]
        if frontier is None or frontier > self.stepped:
            self.stepped = max(self.stepped, frontier or 0)
            for start in sorted(self.windows):
                if start < was_final:
                    rows += self._revision(self.windows[start])
        return rows

    def _revision(self, window: OracleWindow) -> list[dict[str, Any]]:
        row, _ = self.row(window, at_first=False)
        if row == {**window.newest, "revision": row["revision"]}:
            return []
        window.revision += 1
        row["revision"] = window.revision
        window.newest = row
        return [row]

    def _cover(self, window: OracleWindow) -> None:
        for stream in {r.stream for r in window.rows} | {s for s, _ in window.ledgers}:
            numbers = [r.seq for r in window.rows if r.stream == stream]
            numbers += [n for (s, _), (_, told) in window.ledgers.items() if s == stream for n, _ in told]
            self.covered[stream] = max([n + 1 for n in numbers] + [self.covered.get(stream, 0)])

    # -- a row

    @staticmethod
    def _first_arrivals(window: OracleWindow) -> list[Row]:
        seen: set[tuple[str, int, int]] = set()
        found = []
        for row in window.rows:
            if (row.stream, row.second, row.seq) not in seen:
                seen.add((row.stream, row.second, row.seq))
                found.append(row)
        return found

    def _blind(self, window: OracleWindow) -> tuple[list[OracleEnd], int, bool, int]:
        """Members; until when something may have arrived unobserved; a sender's gap; steady receivers."""
        start, deadline = window.start, window.start + self.rules.window_ns + self.rules.settle_ns
        members, blind, sender_gap, lives = [], 0, False, []
        alive = [(e.role, *self._life(e)[:2]) for e in self.ends.values()]
        born_senders = [
            a for role, a, b in alive if role == "sender" and a < deadline and (b is None or b > start)
        ]
        begin = max(start, min(born_senders, default=start))
        for end in self.ends.values():
            born, stop, silent = self._life(end)
            if not (born < deadline and (stop is None or stop > start)):
                continue
            members.append(end)
            gaps = [*end.missed(), *([(silent, stop)] if silent is not None and stop is not None else [])]
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
        members, blind, sender_gap, steady = self._blind(window)
        arrivals = self._first_arrivals(window)
        received = {(r.stream, r.second, r.seq) for r in arrivals}
        classes: dict[Any, str] = {}
        refused = dict.fromkeys(REFUSALS, 0)
        lost = dict.fromkeys(("accepted", "presettled", "unsettled"), 0)
        lost_seconds: list[int] = []
        though_refused = unexpected = 0
        unledgered = False
        cells = sorted({(s, sec) for s, sec, _ in received} | set(window.ledgers), key=lambda c: c[1])
        bases = dict(window.bases)
        for stream, second in cells:
            arrived = {seq for s, sec, seq in received if (s, sec) == (stream, second)}
            if (stream, second) in window.ledgers:
                told = dict(window.ledgers[stream, second][1])
            else:
                unledgered = True
                told = dict.fromkeys(range(min([bases.get(stream, 0), *arrived]), max(arrived) + 1), "?")
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
            bases[stream] = max([bases.get(stream, 0), *(n + 1 for n in set(told) | arrived)])
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
                for reason in ("no_credit", "no_connection", "guard")
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
        starts = {e.run: self._life(e)[0] for e in members if e.role == "sender"}
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
