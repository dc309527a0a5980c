"""One path's windows as a state machine: records in, final rows and revisions out."""

from __future__ import annotations

from typing import Any, Final

from collectors.config.paths import Rules
from collectors.contract import window_rows
from collectors.contract.records import SECOND_NS, Header, Record
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.accounting import bounds, row, spans, state_codec
from streaming.accounting.admission import Rejected, check
from streaming.accounting.ends import End, reach_ns
from streaming.accounting.live import Shown
from streaming.accounting.members import Members, View
from streaming.accounting.path_windows import Loader, Windows, remember_classes
from streaming.accounting.row import About, Outages
from streaming.accounting.window import TooMuch, Window

COUNTERS: Final = ("samples", "repeats", "warmup", "before_start", "beyond_horizon")


class PathState:
    """Everything known of one path. Rows depend on its records, in their order, and on the rules alone.

    After `apply`, `rejection` tells why the record was not taken in, or not wholly: it belongs into the
    dead letters then.
    """

    def __init__(self, name: str, rules: Rules) -> None:
        if rules.window_ns % SECOND_NS:
            raise ValueError(f"path {name}: a window of {rules.window_ns} ns is no whole number of seconds")
        self.name: Final = name
        self.rules: Final = rules
        self.rejection: Rejected | None = None
        self.is_anew = False  # what was kept was made by other rules
        self.last_append_ns = 0
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self._about: About | None = None
        self._newest: Header | None = None  # while nobody has asked what it says of the path
        self._members = Members(rules)
        self._windows = Windows(name, rules.window_ns)
        self._not_before_ns = 0  # no rows of windows that begin earlier
        self._stepped_ns = 0  # the path's frontier when revisions were last made
        self._outages = Outages({})
        self._p999_ns = 0  # response latency, of the newest final window
        self._shown = Shown()

    def apply(self, record: Record, append_ns: int) -> list[bytes]:
        """Take in a record, as its partition's next one of this path; the rows it makes final, encoded."""
        header = record.header
        self.rejection = None
        self.last_append_ns = max(self.last_append_ns, append_ns)
        try:
            check(record, self.name, append_ns)
        except Rejected as rejected:
            self.rejection = rejected
            return []
        if header.warmup and header.role == "sender":
            self.counters["warmup"] += 1
            self._members.passed.record(append_ns)
            return []
        end = self._end(header)
        if end is None:
            return []
        # One that was passed over may come again when later ones have made the end known: it is so again.
        is_unplaced = not end.ranges or header.number < end.base
        if is_unplaced and self._members.is_past(reach_ns(header), self._windows.kept_ns):
            self._pass_over(record)
            return []
        self._members.passed.record(append_ns)
        if not end.ranges and len(self._members.ends) >= bounds.ENDS and not self._make_room():
            self.rejection = Rejected("ends", f"more than {bounds.ENDS} ends within the horizon")
            end.take(header, set())
            self._notice(end)
            return self._advance()
        try:
            self._take_rows(record)
        except TooMuch as problem:
            self.rejection = problem
            self._miss_rows(end, header.second)
        self._take_header(end, header)
        self._notice(end)  # it may move this end's frontier, too
        try:
            self._take_foreign(end, header.foreign)
        except TooMuch as problem:
            self.rejection = problem
        return self._advance()

    def live(self) -> LiveRow | None:
        """What is known now; None before the first record."""
        about = self._said()
        if about is None:
            return None
        since_ns = min(self._outages.since_ns.values(), default=None)
        return self._shown.row(
            about, self.rules, self._windows.open(), self._members, since_ns, self._p999_ns
        )

    # -- kept state

    def dump_header(self) -> bytes:
        """All but the windows."""
        about = self._said()
        return state_codec.pack(
            [
                [self.rules.hash(), self.rules.window_ns],
                self._windows.dump(),
                [self.last_append_ns, self.counters],
                None if about is None else [getattr(about, name) for name in About.__slots__],
                [
                    [end.dump() for end in self._members.ends.values()],
                    self._members.newest_ns,
                    self._members.passed.dump(),
                ],
                [self._not_before_ns, self._stepped_ns, self._outages.since_ns],
                [self._p999_ns, self._shown.last_received_ns],
            ]
        )

    def dirty_windows(self) -> dict[int, bytes]:
        """The windows changed since this was last asked, by start; final ones leave memory for the loader."""
        return self._windows.take_changed()

    def forgotten_windows(self) -> list[int]:
        """The windows whose bytes are not needed any longer, since this was last asked."""
        return self._windows.take_forgotten()

    def keep_windows_with(self, loader: Loader) -> None:
        """Where dumped windows are to be found again; without one they stay in memory."""
        self._windows.loader = loader

    @classmethod
    def load(cls, name: str, rules: Rules, header: bytes, loader: Loader) -> PathState:
        """Go on from what was dumped; BadState where this program cannot.

        State that was made by other rules only hands on its counters: the path is then joined midway.
        """
        with state_codec.undamaged(f"the kept state of path {name}"):
            return cls._loaded(name, rules, state_codec.unpack(header)[0], loader)

    @classmethod
    def _loaded(cls, name: str, rules: Rules, kept: list[Any], loader: Loader) -> PathState:
        (made_by, length_ns), windows, counted, about, members, carried, shown = kept
        state = cls(name, rules)
        state.last_append_ns, state.counters = counted
        if made_by != rules.hash() or length_ns != rules.window_ns:
            state._windows.loader = loader
            state._windows.forget_kept(windows, length_ns)
            state.is_anew = True
            return state
        state._windows.load(windows, loader)
        state._about = None if about is None else About(*about)
        state._members.load([End.load(end) for end in members[0]], *members[1:])
        state._not_before_ns, state._stepped_ns, state._outages.since_ns = carried
        state._p999_ns, state._shown.last_received_ns = shown
        return state

    # -- what a record says

    def _end(self, header: Header) -> End | None:
        """The end that wrote the record, its known self or a new one; None where it is a repeat."""
        end = self._members.ends.get((header.role, header.name, header.run))
        if end is None:
            return End.first_seen(header)
        if end.seen(header.number):
            self.counters["repeats"] += 1
            return None
        return end

    def _make_room(self) -> bool:
        """Forget the end that ended first, and all windows that it may concern; False where none may go."""
        windows, members = self._windows, self._members
        frontier_ns = members.frontier_ns()
        ended = [end for end in members.ends.values() if not members.lives(end)]
        if not ended or windows.first_ns is None or windows.next_ns < members.settled_ns(frontier_ns):
            return False
        oldest = min(ended, key=lambda end: (end.known_ns, end.key))
        kept_ns = windows.start_of(oldest.known_ns + self.rules.gone_after_ns) + windows.length_ns
        if frontier_ns is None:
            kept_ns = min(kept_ns, windows.next_ns)  # where none lives there is nothing to wait for
        if kept_ns > windows.next_ns:
            return False
        windows.forget_before(kept_ns)
        members.drop(oldest)
        return True

    def _take_rows(self, record: Record) -> None:
        header = record.header
        if record.received is None and record.ledger is None:
            return
        if header.warmup:
            self.counters["warmup"] += 1
            return
        samples = 0 if record.received is None else record.received.size
        window = self._window(header.second * SECOND_NS, samples)
        if window is None:
            return
        if record.received is not None:
            self.counters["samples"] += samples
            window.receive(header, record.received)
            self._shown.received(window.samples.last_received_ns)
        elif record.ledger is not None:
            window.tell(header, record.ledger)

    def _pass_over(self, record: Record) -> None:
        """A record of an end that was forgotten, or of times that are."""
        if record.received is not None:
            start = self._windows.start_of(record.header.second * SECOND_NS)
            self.counters[self._windows.too_old(start) or "beyond_horizon"] += record.received.size

    def _miss_rows(self, end: End, second: int) -> None:
        """The rows were too much: for the accounting the end has a gap there."""
        start_ns = second * SECOND_NS
        spans.add(end.gaps, [(start_ns, start_ns + SECOND_NS)], bounds.SPANS)
        if self._windows.holds(self._windows.start_of(start_ns)):
            window = self._window(start_ns, 0)
            if window is not None:
                window.flags.add("dead_letters")

    def _take_header(self, end: End, header: Header) -> None:
        self._newest = header
        living = self._members.living() if header.clock else ()
        senders = {other.run for other in living if other.role == "sender"}
        if not end.ranges:
            self._begin_end(end, header, senders)
            return
        told_ns, had_ended = end.frontier_ns, end.said_bye
        end.take(header, senders)
        told_ns = _from_ns(end, header, told_ns)
        if end.said_bye != had_ended:
            self._touch(told_ns)
        else:
            self._touch(told_ns, end.frontier_ns + self.rules.gone_after_ns)

    def _begin_end(self, end: End, header: Header, senders: set[str]) -> None:
        end.take(header, senders)
        if end.base:
            first_ns = end.ranges[0].first_frontier_ns
            spans.add(end.gaps, [(end.start_ns, end.frontier_ns)], bounds.SPANS)
            if end.frontier_ns <= first_ns:
                end.open_ns = first_ns
            if self._windows.first_ns is None:
                self._not_before_ns = max(self._not_before_ns, first_ns + self.rules.gone_after_ns)
        self._touch(_from_ns(end, header, self._members.add(end)))

    def _said(self) -> About | None:
        """What the newest record says of the path."""
        if self._newest is not None:
            self._about, self._newest = About.of(self._newest), None
        return self._about

    def _take_foreign(self, end: End, count: int) -> None:
        window = self._window(end.frontier_ns, 0) if count else None
        if window is not None:
            window.counts["foreign"] += count

    # -- windows

    def _window(self, time_ns: int, samples: int) -> Window | None:
        """The window of that time, to be changed; None where it is too old: the samples are counted so."""
        start = self._windows.start_of(time_ns)
        too_old = self._windows.too_old(start)
        if too_old is not None:
            self.counters[too_old] += samples
            return None
        self._shown.changed(start)
        return self._windows.to_change(start)

    def _touch(self, from_ns: int, to_ns: int | None = None) -> None:
        """What is known now of an end in that time may change final windows; without `to_ns`, all later."""
        windows, rules = self._windows, self.rules
        if windows.first_ns is None:
            return
        # A window reaches until its messages have settled: the first one that this concerns ...
        first = windows.start_of(from_ns - rules.settle_ns)
        last = windows.next_ns if to_ns is None else min(to_ns, windows.next_ns)
        windows.revise.update(range(max(first, windows.kept_ns), last, rules.window_ns))

    def _notice(self, end: End) -> None:
        """The time that an end's newest record tells of."""
        for before_ns in self._members.notice(end):
            self._touch(before_ns)

    def _advance(self) -> list[bytes]:
        """Windows that became final, in order, then revisions of earlier ones."""
        windows, rules = self._windows, self.rules
        frontier_ns = self._members.frontier_ns()
        settled_ns = self._members.settled_ns(frontier_ns)
        found: list[bytes] = []
        if frontier_ns is not None and self._members.passed.is_resuming(rules.settle_ns):
            return found  # those that began meanwhile come to be known
        if windows.first_ns is None and not self._begin(settled_ns):
            return found
        final_ns = windows.next_ns
        while windows.next_ns < settled_ns and len(found) < bounds.ROWS:
            if not windows.holds(windows.next_ns) and self._leap(settled_ns):
                continue
            found.append(self._close(windows.close_next()))
        if windows.next_ns != final_ns:
            windows.forget_before(windows.next_ns - -(-rules.horizon_ns // rules.window_ns) * rules.window_ns)
            self._members.forget(windows.kept_ns)
        if frontier_ns is None or frontier_ns > self._stepped_ns:
            self._stepped_ns = max(self._stepped_ns, frontier_ns or 0)
            self._revise(final_ns, found)
        return found

    def _begin(self, settled_ns: int) -> bool:
        """Set the first window, once it is final."""
        windows = self._windows
        # Joined midway: what was before is not known, and may still be on its way.
        start = -(-self._not_before_ns // windows.length_ns) * windows.length_ns
        earliest_ns = self._members.earliest_ns()
        if earliest_ns is not None:
            start = max(start, windows.start_of(earliest_ns))
        start = max(start, windows.start_of(max(settled_ns - self.rules.horizon_ns, 0)))
        if start >= settled_ns:
            return False
        for window in windows.begin(start):
            self.counters["before_start"] += window.samples.count
        return True

    def _leap(self, settled_ns: int) -> bool:
        """Pass over windows beyond the horizon in which no end was there: a long silence makes no rows."""
        windows = self._windows
        start = windows.next_ns
        recent = windows.start_of(settled_ns - self.rules.horizon_ns)
        if start >= recent or self._view(start).members:
            return False
        following = [window.start_ns for window in windows.open()]
        following += [end.start_ns - self.rules.settle_ns for end in self._members.ends.values()]
        target = min([recent, *(windows.start_of(each) for each in following if each > start)])
        windows.leap(max(target, start + windows.length_ns))
        return True

    def _close(self, window: Window) -> bytes:
        window.revision = 0
        found, text = self._row(window, self._view(window.start_ns), self._outages)
        if found["response"] is not None:
            self._p999_ns = found["response"]["percentiles"].get("99.9", found["response"]["max_ns"])
        self._shown.changed(window.start_ns)
        return text

    def _revise(self, final_ns: int, found: list[bytes]) -> None:
        """Add revisions of windows final before, where their rows are other than they were."""
        revise = self._windows.revise
        for start in sorted(revise):
            if len(found) >= bounds.ROWS:
                return  # the rest has to wait
            revise.discard(start)
            if start >= final_ns:
                continue  # its row is among the found ones
            window = self._windows.final(start)
            view = self._view(start)
            if view.blind_ns != window.blind_ns:
                remember_classes(window)
            before = window.digest
            revised, _ = self._row(window, view, None)
            if window.digest != before:
                window.revision += 1
                revised["revision"] = window.revision
                found.append(window_rows.encode(revised))

    def _view(self, start: int) -> View:
        return self._members.view(start, start + self.rules.window_ns + self.rules.settle_ns)

    def _row(self, window: Window, view: View, outages: Outages | None) -> tuple[WindowRow, bytes]:
        """As it is now, with revision 0."""
        about = self._said()
        assert about is not None  # noqa: S101 -- a window has had a record
        found = row.final(about, self.rules, window, view, outages)
        window.blind_ns = view.blind_ns
        text = window_rows.encode(found)
        window.digest = row.digest(text)
        self._windows.mark_changed(window.start_ns)
        return found, text


def _from_ns(end: End, header: Header, told_ns: int) -> int:
    """Of no time before that does a record tell anything new, where the end had told all until `told_ns`."""
    if not header.gaps and not header.detached and not header.unwatched:
        return told_ns
    spans_ns = [gap.from_ns for gap in header.gaps]
    spans_ns += [span.from_ns for span in (*header.detached, *header.unwatched)]
    return min(told_ns, min(spans_ns) - end.late_by_ns)
