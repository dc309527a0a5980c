"""The accounting contract, slow and obvious: plain lists and dictionaries, everything counted anew each time.

Written from streaming/accounting.md, and sharing no code with what it judges. It covers what a row says but
for labels and encodings; percentiles are exact ones.
"""

# ruff: noqa: C901, PLR0912 -- one rule after the other, as the contract tells them

from __future__ import annotations

from typing import Any

from oracle_parts import OracleEnd, OracleWindow, Row
from oracle_row import SECOND, RowOracle

from collectors.config.paths import Rules
from collectors.contract.records import OUTCOMES, Header, Record


class Oracle(RowOracle):
    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.windows: dict[int, OracleWindow] = {}
        self.first: int | None = None
        self.next = 0
        self.kept = 0
        self.not_before = 0
        self.stepped = 0
        self.before_start = self.beyond_horizon = self.repeats = 0

    # -- a record

    def feed(self, record: Record, append_ns: int) -> list[dict[str, Any]]:
        header = record.header
        key = header.role, header.name, header.run
        end = self.ends.get(key)
        if end is not None and (header.number in end.frontiers or header.number in end.gone_numbers):
            self.repeats += 1
            return []
        past = self._reach(header) + self.rules.gone_after_ns < self.kept
        if past and (end is None or header.number < end.base):
            if record.received is not None and len(record.received.seq):
                if header.second * SECOND < (self.first or 0):
                    self.before_start += len(record.received.seq)
                else:
                    self.beyond_horizon += len(record.received.seq)
            return []
        if end is None:
            base = header.number
            for gap in header.gaps:
                if gap.last == base - 1:
                    base = gap.first
            end = OracleEnd(*key, header.observed_from_ns, base)
        self.senders, self.receivers = header.senders, header.receivers
        living_senders = [e.run for e in self.ends.values() if e.role == "sender" and self.life(e)[1] is None]
        self._pass_time(append_ns)
        self._data(record)
        self._header(end, header, living_senders)
        if key not in self.ends:
            self.ends[key] = end
            if end.base:
                first = end.frontiers[end.base]
                end.holes.append((end.start, end.base))
                if self.first is None:
                    self.not_before = max(self.not_before, first + self.rules.gone_after_ns)
        if end.newest > self.newest - self.rules.horizon_ns:
            end.heard = self.passed
        self._give_up()
        if header.foreign:
            window = self._window(end.frontier, 0)
            if window:
                window.foreign += header.foreign
        return self._advance()

    def _pass_time(self, append_ns: int) -> None:
        """The append time of this path goes on: by no more than an eighth of gone_after for a record."""
        if self.appended is not None:
            step = append_ns - self.appended
            self.passed += max(0, min(step, self.rules.gone_after_ns // 8))
            if step >= self.rules.gone_after_ns:
                self.resumed = self.passed
        self.appended = append_ns

    def _data(self, record: Record) -> None:
        header = record.header
        if record.received is not None and len(record.received.seq):
            r = record.received
            window = self._window(header.second * SECOND, len(r.seq))
            if window is None:
                return
            window.headers.append(header)
            seq, intended_ns, sent_ns, received_ns = r.seq, r.intended_ns, r.sent_ns, r.received_ns
            for i in range(len(seq)):
                window.rows.append(
                    Row(
                        header.stream,
                        int(seq[i]),
                        header.second,
                        int(intended_ns[i]),
                        int(sent_ns[i]),
                        int(received_ns[i]),
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
                if known is not None:
                    said = [number for number, _ in numbers]
                    numbers += [
                        (number, outcome)
                        for number, outcome in known[1]
                        if not said or not said[0] <= number <= said[-1]
                    ]
                window.ledgers[header.stream, header.second] = header, sorted(numbers)

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
        for still in header.unwatched:
            end.gaps.append((still.from_ns - end.late_by, still.to_ns - end.early_by))
        for span in header.detached:
            end.detached.append((span.from_ns - end.late_by, span.to_ns - end.early_by))
        end.frontiers[header.number] = header.frontier_ns - end.late_by
        end.reach = max(end.reach, self._reach(header))
        if header.kind == "bye":
            end.bye = header.number

    @staticmethod
    def _reach(header: Header) -> int:
        """The latest time that a record tells of."""
        rows_end = (header.second + 1) * SECOND if header.kind in {"received", "ledger"} else 0
        return max(header.frontier_ns, rows_end)

    # -- ends

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

    # -- finality

    def _measured(self, living: list[OracleEnd]) -> list[int]:
        """Until when each has measured; one that has just said bye goes on, where others live."""
        return [*(max(e.frontier, e.start) for e in living), *(self._going_on() if living else ())]

    def _going_on(self) -> list[int]:
        """Where those would be now that said bye less than settle ago, and have no successor."""
        found = []
        for end in self.ends.values():
            since = self.passed - end.heard
            if end.said_bye and not self.later(end) and since < self.rules.settle_ns:
                found.append(end.frontier + since)
        return found

    def _advance(self) -> list[dict[str, Any]]:
        length, settle = self.rules.window_ns, self.rules.settle_ns
        lives = {key: self.life(end) for key, end in self.ends.items()}
        living = [self.ends[key] for key, life in lives.items() if life[1] is None]
        measured = self._measured(living)
        frontier = min(measured, default=None)
        if living and self.resumed is not None and self.passed - self.resumed < settle:
            return []

        def is_final(start: int) -> bool:
            """All members have measured until the window has settled, or have ended."""
            deadline = start + length + settle
            if not living:
                reached = any((life[1] or 0) > start for life in lives.values())
                return reached and all(start < until + settle for until in self._going_on())
            return all(until >= deadline for until in measured)

        if frontier is None:
            settled = max((life[1] or 0 for life in lives.values()), default=0)
            settled = min([settled, *(until + settle for until in self._going_on())])
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
                self.before_start += len(self.first_arrivals(window))
        was_final = self.next
        while is_final(self.next):
            quiet = self.next not in self.windows and self.next < recent
            if quiet and not self.blind(OracleWindow(self.next))[0]:
                self.next += length
                self.kept = self.next
                continue
            window = self.windows.setdefault(self.next, OracleWindow(self.next))
            self.next += length
            window.final = True
            row, classes = self.row(window, at_first=True)
            window.classes0, window.newest = classes, row
            rows.append(row)
        self.kept = max(self.kept, self.next - -(-self.rules.horizon_ns // length) * length)
        for old in [s for s in self.windows if s < self.kept]:
            del self.windows[old]
        if self.next > was_final:
            for end in list(self.ends.values()):
                if max(end.newest, end.reach) + 2 * self.rules.gone_after_ns < self.kept:
                    del self.ends[end.role, end.name, end.run]
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
