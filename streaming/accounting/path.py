"""One path's windows as a state machine: records in, final rows and revisions out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collectors.paths import Rules
from collectors.records import SECOND_NS, Header, Record
from streaming.accounting import bounds, classes, codec, live, row
from streaming.accounting.ends import End
from streaming.accounting.members import Members, View
from streaming.accounting.row import About, Outages
from streaming.accounting.window import TooMuch, Window
from streaming.rows import LiveRow, WindowRow

WindowLoader = Callable[[int], bytes | None]


class Rejected(Exception):  # noqa: N818 -- it is the record that is rejected
    """Why a record was not taken in."""

    def __init__(self, reason: bounds.Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


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
        self.last_append_ns = 0
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.dead_letters: dict[str, int] = {}
        self._about: About | None = None
        self._members = Members(rules)
        self._windows: dict[int, Window] = {}  # all open ones; of the final ones those at hand
        self._changed: set[int] = set()  # since they were dumped
        self._revise: set[int] = set()  # final ones that may need a revision
        self._forgotten: list[int] = []
        self._loader: WindowLoader | None = None
        self._first_ns: int | None = None  # the first window there is a row of
        self._next_ns = 0  # the next window to become final
        self._kept_ns = 0  # the oldest final window still kept
        self._not_before_ns = 0
        self._stepped_ns = 0  # the path's frontier when revisions were last made
        self._covered: dict[str, int] = {}  # by stream: numbers below belong to final windows
        self._outages = Outages({})
        self._p999_ns = 0
        self._live = live.Cache()

    def apply(self, record: Record, append_ns: int) -> list[WindowRow]:
        """Take in a record, as its partition's next one of this path; the rows that it makes final."""
        self.rejection = None
        self.last_append_ns = max(self.last_append_ns, append_ns)
        self.counters["records"] += 1
        header = record.header
        try:
            end = self._end(record, append_ns)
        except Rejected as rejected:
            self._reject(rejected)
            return []
        if end is None:
            return []
        try:
            self._data(record)
        except TooMuch as problem:
            self._reject(Rejected(problem.reason, str(problem)))
            self._flag(header.second)
            end.gaps.append((header.second * SECOND_NS, (header.second + 1) * SECOND_NS))
        before = self._take(end, header)
        if header.foreign:
            self._foreign(end, header.foreign)
        self._about = About.of(header)
        self._touch(before, end.frontier_ns)
        for other, other_before in self._members.notice(end):
            self._touch(other_before, other.frontier_ns)
        return self._advance()

    def live(self) -> LiveRow | None:
        """What is known now; None before the first record."""
        if self._about is None:
            return None
        frontier_ns = self._next_ns if self._first_ns is not None else 0
        pending = [window for start, window in self._windows.items() if start >= frontier_ns]
        since_ns = min(self._outages.since_ns.values(), default=None)
        return self._live.row(self._about, self.rules, pending, self._members, since_ns, self._p999_ns)

    # -- kept state

    def dump_header(self) -> bytes:
        """All but the windows."""
        members = self._members
        rules = self.rules
        about = self._about
        return codec.pack(
            [
                [rules.window_ns, rules.settle_ns, rules.gone_after_ns, rules.horizon_ns, rules.hash()],
                None if about is None else [getattr(about, name) for name in About.__slots__],
                [end.dump() for end in members.ends.values()],
                members.newest_ns,
                [start for start in self._windows if self._first_ns is None or start >= self._next_ns],
                sorted(self._revise),
                [self._first_ns, self._next_ns, self._kept_ns, self._not_before_ns, self._stepped_ns],
                [self._covered, self._outages.since_ns, self._p999_ns, self._live.dump()],
                [self.last_append_ns, self.counters, self.dead_letters],
            ]
        )

    def dirty_windows(self) -> dict[int, bytes]:
        """The windows changed since this was last asked, by start; final ones leave memory for the loader."""
        found = {}
        for start in sorted(self._changed):
            window = self._windows.get(start)
            if window is not None:
                found[start] = codec.dump_window(window)
        self._changed.clear()
        if self._first_ns is not None and self._loader is not None:
            for start in [start for start in self._windows if start < self._next_ns]:
                del self._windows[start]
        return found

    def forgotten_windows(self) -> list[int]:
        """The windows whose bytes are not needed any longer, since this was last asked."""
        found, self._forgotten = self._forgotten, []
        return found

    def keep_windows_with(self, loader: WindowLoader) -> None:
        """Where dumped windows are to be found again; without one they stay in memory."""
        self._loader = loader

    @classmethod
    def load(cls, name: str, rules: Rules, header: bytes, loader: WindowLoader) -> PathState:
        """Go on from what was dumped; BadState where this program cannot.

        State that was made by other rules only hands on its counters: the path is then joined midway.
        """
        made_by, about, ends, newest_ns, open_starts, revise, places, carried, counted = codec.unpack(header)[
            0
        ]
        state = cls(name, rules)
        state._loader = loader
        state.last_append_ns, counters, dead_letters = counted
        state.counters.update(counters)
        state.dead_letters.update(dead_letters)
        if made_by[-1] != rules.hash() or made_by[0] != rules.window_ns:
            state._forgotten = [*open_starts, *range(places[2], places[1], made_by[0])]
            return state
        state._about = None if about is None else About(*about)
        state._members.load([End.load(end) for end in ends], newest_ns)
        state._revise = set(revise)
        first_ns, state._next_ns, state._kept_ns, state._not_before_ns, state._stepped_ns = places
        state._first_ns = first_ns
        state._covered, state._outages.since_ns, state._p999_ns, shown = carried
        state._live = live.Cache.load(shown)
        state._windows = {start: state._loaded(start) for start in open_starts}
        return state

    # -- what a record says

    def _end(self, record: Record, append_ns: int) -> End | None:
        header = record.header
        self._check(record, append_ns)
        if header.warmup:
            self.counters["warmup"] += 1
            return None
        key = header.role, header.name, header.run
        end = self._members.ends.get(key)
        if end is None:
            return self._new_end(header)
        if end.seen(header.number):
            self.counters["repeats"] += 1
            return None
        return end

    def _check(self, record: Record, append_ns: int) -> None:
        header = record.header
        if header.path != self.name:
            raise Rejected("alien", f"a record of path {header.path!r} came to path {self.name!r}")
        if header.kind == "received" and (header.role != "receiver" or not header.stream):
            raise Rejected("alien", "`received` comes from a receiver, and names the stream")
        if header.kind == "ledger" and (header.role != "sender" or header.stream != header.run):
            raise Rejected("alien", "a `ledger` comes from the sender whose stream it is")
        latest_ns = append_ns + bounds.AHEAD_NS
        newest_ns = header.frontier_ns
        if record.received is not None and len(record.received.seq):
            newest_ns = max(newest_ns, int(record.received.received_ns.max()))
        if record.received is not None or record.ledger is not None:
            newest_ns = max(newest_ns, header.second * SECOND_NS)
        if newest_ns > latest_ns:
            raise Rejected("future", f"{(newest_ns - append_ns) // SECOND_NS} s after Kafka took it")
        if header.observed_from_ns > header.frontier_ns:
            raise Rejected("times", "it measured until before it began to")
        for gap in header.gaps:
            if gap.first > gap.last or gap.last >= header.number or gap.from_ns > gap.to_ns:
                raise Rejected("times", f"a gap that is none: {tuple(gap)} before record {header.number}")

    def _new_end(self, header: Header) -> End:
        if len(self._members.ends) >= bounds.ENDS:
            raise Rejected("ends", f"more than {bounds.ENDS} ends within the horizon")
        base = header.number
        for gap in sorted(header.gaps, reverse=True):
            if gap.last + 1 == base:
                base = gap.first
        end = End(header.role, header.name, header.run, header.observed_from_ns, base)
        end.told_ns = header.observed_from_ns
        return end

    def _take(self, end: End, header: Header) -> int:
        """Take in the header; until when what the end tells was known before."""
        senders = {other.run for other in self._members.living() if other.role == "sender"}
        if end.ranges:
            before = end.frontier_ns
            end.take(header, senders)
            return before
        end.take(header, senders)
        if end.base:
            first_ns = end.ranges[0].first_frontier_ns
            end.gaps.append((end.start_ns, first_ns))
            if self._first_ns is None:
                self._not_before_ns = max(self._not_before_ns, first_ns + self.rules.gone_after_ns)
        self._members.add(end)
        return end.start_ns

    def _data(self, record: Record) -> None:
        header = record.header
        if record.received is None and record.ledger is None:
            return
        samples = 0 if record.received is None else len(record.received.seq)
        window = self._window(header.second * SECOND_NS, samples)
        if window is None:
            return
        if record.received is not None:
            self.counters["samples"] += samples
            window.receive(header, record.received)
        elif record.ledger is not None:
            window.tell(header, record.ledger)

    def _foreign(self, end: End, count: int) -> None:
        window = self._window(end.frontier_ns, samples=0)
        if window is not None:
            window.counts["foreign"] += count

    def _reject(self, rejected: Rejected) -> None:
        self.rejection = rejected
        self.dead_letters[rejected.reason] = self.dead_letters.get(rejected.reason, 0) + 1

    def _flag(self, second: int) -> None:
        start = self._start_of(second * SECOND_NS)
        window = self._windows.get(start)
        if window is not None:
            window.flags.add("dead_letters")
            self._changed.add(start)

    # -- windows

    def _start_of(self, time_ns: int) -> int:
        return time_ns - time_ns % self.rules.window_ns

    def _window(self, time_ns: int, samples: int) -> Window | None:
        """The window of that time, to be changed; None where it is too old: the samples are counted so."""
        start = self._start_of(time_ns)
        if self._first_ns is not None and start < self._next_ns:
            if start < self._kept_ns:
                self.counters["before_start" if start < self._first_ns else "beyond_horizon"] += samples
                return None
            window = self._closed(start)
            if window.origin is None:
                window.origin = classes.segments(window, window.blind_ns)
            self._revise.add(start)
        elif start in self._windows:
            window = self._windows[start]
        else:
            if len(self._windows) >= bounds.WINDOWS:
                raise TooMuch("windows", f"more than {bounds.WINDOWS} windows at a time")
            window = self._windows[start] = Window(start)
        self._changed.add(start)
        self._live.changed(start)
        return window

    def _closed(self, start: int) -> Window:
        window = self._windows.get(start)
        if window is None:
            window = self._windows[start] = self._loaded(start)
        return window

    def _loaded(self, start: int) -> Window:
        data = self._loader(start) if self._loader else None
        if data is None:
            raise codec.BadState(
                f"path {self.name}: the kept window {start} is missing: begin a new checkpoint"
            )
        return codec.load_window(data)

    def _touch(self, from_ns: int, to_ns: int) -> None:
        """What an end told of that time may change final windows."""
        if self._first_ns is None:
            return
        length = self.rules.window_ns
        first = max(self._start_of(from_ns - self.rules.settle_ns - length), self._kept_ns)
        last = min(to_ns + self.rules.gone_after_ns, self._next_ns)
        for start in range(first, last, length):
            if start + length + self.rules.settle_ns > from_ns:
                self._revise.add(start)

    def _advance(self) -> list[WindowRow]:
        """Windows that became final, in order, then revisions of earlier ones."""
        frontier_ns, lives = self._members.frontier_ns()
        found: list[WindowRow] = []
        if self._first_ns is None and not self._begin(frontier_ns):
            return found
        final_ns = self._next_ns
        settled_ns = frontier_ns - self.rules.settle_ns - self.rules.window_ns
        while self._next_ns <= settled_ns and len(found) < bounds.ROWS:
            start = self._next_ns
            if start not in self._windows and self._leap(frontier_ns):
                continue
            self._next_ns += self.rules.window_ns
            found.append(self._close(start))
        if self._next_ns != final_ns:
            length = self.rules.window_ns
            self._drop_before(self._next_ns - -(-self.rules.horizon_ns // length) * length)
        if not lives or frontier_ns > self._stepped_ns:
            self._stepped_ns = max(self._stepped_ns, frontier_ns)
            for start in sorted(self._revise):
                if start >= final_ns or self._revised(start, found):
                    self._revise.discard(start)
        return found

    def _begin(self, frontier_ns: int) -> bool:
        """Set the first window, once it is final."""
        earliest_ns = self._members.earliest_ns()
        length = self.rules.window_ns
        # Joined midway: what was before is not known, and may still be on its way.
        not_before = -(-self._not_before_ns // length) * length
        start = not_before if earliest_ns is None else max(self._start_of(earliest_ns), not_before)
        start = max(start, self._start_of(max(frontier_ns - self.rules.horizon_ns, 0)))
        if start + length + self.rules.settle_ns > frontier_ns:
            return False
        self._first_ns = self._next_ns = self._kept_ns = start
        for before in [each for each in self._windows if each < start]:
            window = self._windows.pop(before)
            self.counters["before_start"] += window.samples.count
            self._cover(window)
            self._changed.discard(before)
            self._forgotten.append(before)
        return True

    def _leap(self, frontier_ns: int) -> bool:
        """Pass over windows beyond the horizon in which no end was there: a long silence makes no rows."""
        start = self._next_ns
        recent = self._start_of(frontier_ns - self.rules.horizon_ns)
        if start >= recent or self._view(start).members:
            return False
        places = [recent, *(each for each in self._windows if each > start)]
        starts = (end.start_ns for end in self._members.ends.values() if end.start_ns >= start)
        places += [self._start_of(each - self.rules.settle_ns) for each in starts]
        self._next_ns = max(min(places), start + self.rules.window_ns)
        self._drop_before(self._next_ns)
        return True

    def _close(self, start: int) -> WindowRow:
        window = self._windows.get(start)
        if window is None:
            window = self._windows[start] = Window(start)
        window.bases = {stream: self._covered.get(stream, 0) for stream in window.cells}
        window.revision = 0
        found = self._row(window, self._view(start), self._outages)
        self._cover(window)
        if found["response"] is not None:
            self._p999_ns = found["response"]["percentiles"].get("99.9", found["response"]["max_ns"])
        self._live.closed(start)
        return found

    def _view(self, start: int) -> View:
        return self._members.view(start, start + self.rules.window_ns + self.rules.settle_ns)

    def _row(self, window: Window, view: View, outages: Outages | None) -> WindowRow:
        assert self._about is not None  # noqa: S101 -- a window has had a record
        found = row.final(self._about, self.rules, window, view, outages)
        window.blind_ns = view.blind_ns
        window.digest = row.digest(found)
        self._changed.add(window.start_ns)
        return found

    def _revised(self, start: int, found: list[WindowRow]) -> bool:
        """Add a revision where the row is another than before; False where this one has to wait."""
        if start < self._kept_ns:
            return True
        if len(found) >= bounds.ROWS:
            return False
        window = self._closed(start)
        view = self._view(start)
        if window.origin is None and view.blind_ns != window.blind_ns:
            window.origin = classes.segments(window, window.blind_ns)
        before = window.digest
        revised = self._row(window, view, None)
        if window.digest != before:
            window.revision += 1
            revised["revision"] = window.revision
            found.append(revised)
        return True

    def _cover(self, window: Window) -> None:
        for stream, cells in window.cells.items():
            high = max(self._covered.pop(stream, 0), *map(classes.covered_to, cells.values()), 0)
            self._covered[stream] = high
        while len(self._covered) > bounds.KNOWN:
            del self._covered[next(iter(self._covered))]

    def _drop_before(self, kept_ns: int) -> None:
        """Final windows are kept until the horizon is beyond them."""
        while self._kept_ns < kept_ns:
            self._forgotten.append(self._kept_ns)
            self._windows.pop(self._kept_ns, None)
            self._changed.discard(self._kept_ns)
            self._revise.discard(self._kept_ns)
            self._kept_ns += self.rules.window_ns
        self._members.forget(self._kept_ns)


COUNTERS: Final = ("records", "samples", "repeats", "warmup", "before_start", "beyond_horizon")
