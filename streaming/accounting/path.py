"""One path's accounting as a state machine: records in, final rows and revisions out."""

from __future__ import annotations

from typing import Any, Final

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS, Header, Record
from collectors.contract.window_rows import LiveRow
from streaming.accounting import admission, bounds, spans, state_codec
from streaming.accounting.admission import Rejected
from streaming.accounting.ends import End, reach_ns
from streaming.accounting.finality import Finality
from streaming.accounting.live import LiveFigures
from streaming.accounting.path_ends import PathEnds
from streaming.accounting.path_windows import Loader, PathWindows
from streaming.accounting.row import NewestInfo
from streaming.accounting.window import TooMuch, Window

COUNTERS: Final = ("samples", "repeats", "warmup", "before_start", "beyond_horizon")


class PathState:
    """All that is known of one path. Rows depend on its records, in their order, and on the rules alone.

    Where `apply` did not take in a record, or only its header, `rejection` says why: a dead letter.
    """

    def __init__(self, name: str, rules: Rules) -> None:
        if rules.window_ns % SECOND_NS:
            raise ValueError(f"path {name}: a window of {rules.window_ns} ns is no whole number of seconds")
        self.name: Final = name
        self.rules: Final = rules
        self.rejection: Rejected | None = None
        self.is_anew = False  # it begins anew, as the kept state was made by other rules
        self.last_append_ns = 0
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self._newest = NewestInfo()
        self._ends = PathEnds(rules)
        self._windows = PathWindows(name, rules.window_ns)
        self._live = LiveFigures()
        self._finality = Finality(rules, self._ends, self._windows, self._live, self._newest, self.counters)

    def apply(self, record: Record, append_ns: int) -> list[bytes]:
        """Take in the partition's next record of this path; returns the rows that it makes, encoded."""
        header = record.header
        self.rejection = None
        self.last_append_ns = max(self.last_append_ns, append_ns)
        try:
            admission.check(record, self.name, append_ns)
        except Rejected as rejected:
            self.rejection = rejected
            return []
        if header.warmup and header.role == "sender":
            self.counters["warmup"] += 1
            self._ends.append_time.go_on(append_ns)
            return []
        end = self._end(header)
        if end is None:
            return []
        # One that was passed over may come again when later ones have made its end known: again it is.
        is_unplaced = not end.ranges or header.number < end.base
        if is_unplaced and self._ends.is_past(reach_ns(header), self._windows.kept_ns):
            self._pass_over(record)
            return []
        self._ends.append_time.go_on(append_ns)
        if not end.ranges and len(self._ends.by_key) >= bounds.ENDS and not self._make_room():
            self.rejection = Rejected("ends", f"more than {bounds.ENDS} ends within the horizon")
            end.take(header, set())
            self._notice(end)
            return self._finality.advance()
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
        return self._finality.advance()

    def live(self) -> LiveRow | None:
        """Returns what is known now, or None before the first record."""
        info, finality = self._newest.info(), self._finality
        if info is None:
            return None
        since_ns = min(finality.outages.since_ns.values(), default=None)
        times = since_ns, finality.p999_ns, self.last_append_ns
        return self._live.row(info, self.rules, self._windows.open(), self._ends, *times)

    # -- kept state

    def dump_header(self) -> bytes:
        """Returns all but the windows, as bytes."""
        finality = self._finality
        return state_codec.pack(
            [
                [self.rules.hash(), self.rules.window_ns],
                self._windows.dump(),
                [self.last_append_ns, self.counters],
                self._newest.dump(),
                [
                    [end.dump() for end in self._ends.by_key.values()],
                    self._ends.newest_ns,
                    self._ends.append_time.dump(),
                ],
                [finality.not_before_ns, finality.stepped_ns, finality.outages.since_ns],
                [finality.p999_ns, self._live.last_received_ns],
            ]
        )

    def dirty_windows(self) -> dict[int, bytes]:
        """Returns the windows that changed since the last call, as bytes by start.

        With a loader, final ones leave memory.
        """
        return self._windows.take_changed()

    def forgotten_windows(self) -> list[int]:
        """Returns the starts of windows whose bytes are needed no longer, since the last call."""
        return self._windows.take_forgotten()

    def keep_windows_with(self, loader: Loader) -> None:
        """Set where the bytes of final windows are found again; without a loader, they stay in memory."""
        self._windows.loader = loader

    @classmethod
    def load(cls, name: str, rules: Rules, header: bytes, loader: Loader) -> PathState:
        """Returns the path as it was dumped. Raises BadState where this program cannot go on from that.

        Of state that was made by other rules only the counters are kept: the path is then joined midway.
        """
        with state_codec.undamaged(f"the kept state of path {name}"):
            return cls._loaded(name, rules, state_codec.unpack(header)[0], loader)

    @classmethod
    def _loaded(cls, name: str, rules: Rules, kept: list[Any], loader: Loader) -> PathState:
        (made_by, length_ns), windows, counted, info, ends, carried, live = kept
        state = cls(name, rules)
        finality = state._finality
        state.last_append_ns, counters = counted
        state.counters.clear()
        state.counters.update(counters)
        if made_by != rules.hash() or length_ns != rules.window_ns:
            state._windows.loader = loader
            state._windows.forget_kept(windows, length_ns)
            state.is_anew = True
            return state
        state._windows.load(windows, loader)
        state._newest.load(info)
        state._ends.load([End.load(end) for end in ends[0]], *ends[1:])
        finality.not_before_ns, finality.stepped_ns, finality.outages.since_ns = carried
        finality.p999_ns, state._live.last_received_ns = live
        return state

    # -- what a record says

    def _end(self, header: Header) -> End | None:
        """Returns the end that wrote the record, a known or a new one, or None if the record is a repeat."""
        end = self._ends.by_key.get((header.role, header.name, header.run))
        if end is None:
            return End.first_seen(header)
        if end.seen(header.number):
            self.counters["repeats"] += 1
            return None
        return end

    def _make_room(self) -> bool:
        """Forget the end that ended first, and all windows that it may concern; returns whether it could."""
        windows, ends = self._windows, self._ends
        frontier_ns = ends.frontier_ns()
        ended = [end for end in ends.by_key.values() if not ends.lives(end)]
        if not ended or windows.first_ns is None or windows.next_ns < ends.settled_ns(frontier_ns):
            return False
        oldest = min(ended, key=lambda end: (end.known_ns, end.key))
        kept_ns = windows.start_of(oldest.known_ns + self.rules.gone_after_ns) + windows.length_ns
        if frontier_ns is None:
            kept_ns = min(kept_ns, windows.next_ns)  # where none lives there is nothing to wait for
        if kept_ns > windows.next_ns:
            return False
        windows.forget_before(kept_ns)
        ends.drop(oldest)
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
            window.take_samples(header, record.received)
            self._live.received(window.samples.last_received_ns)
        elif record.ledger is not None:
            window.take_ledger(header, record.ledger)

    def _pass_over(self, record: Record) -> None:
        """Count a record of an end that was forgotten, or of a time that is."""
        if record.received is not None:
            start = self._windows.start_of(record.header.second * SECOND_NS)
            self.counters[self._windows.too_old(start) or "beyond_horizon"] += record.received.size

    def _miss_rows(self, end: End, second: int) -> None:
        """The rows were too much: take the end for one that saw nothing in that second."""
        start_ns = second * SECOND_NS
        spans.add(end.gaps, [(start_ns, start_ns + SECOND_NS)], bounds.SPANS)
        if self._windows.holds(self._windows.start_of(start_ns)):
            window = self._window(start_ns, 0)
            if window is not None:
                window.flags.add("dead_letters")

    def _take_header(self, end: End, header: Header) -> None:
        self._newest.take(header)
        living = self._ends.living() if header.clock else ()
        senders = {other.run for other in living if other.role == "sender"}
        if not end.ranges:
            self._begin_end(end, header, senders)
            return
        frontier_ns, had_ended = end.frontier_ns, end.said_bye
        end.take(header, senders)
        new_from_ns = _new_from_ns(end, header, frontier_ns)
        if end.said_bye != had_ended:
            self._finality.touch(new_from_ns)
        else:
            self._finality.touch(new_from_ns, end.frontier_ns + self.rules.gone_after_ns)

    def _begin_end(self, end: End, header: Header, senders: set[str]) -> None:
        """Take in the first header that is seen of an end."""
        end.take(header, senders)
        if end.base:
            first_ns = end.ranges[0].first_frontier_ns
            spans.add(end.gaps, [(end.start_ns, end.frontier_ns)], bounds.SPANS)
            if end.frontier_ns <= first_ns:
                end.open_ns = first_ns
            if self._windows.first_ns is None:
                self._finality.not_before_ns = max(
                    self._finality.not_before_ns, first_ns + self.rules.gone_after_ns
                )
        self._finality.touch(_new_from_ns(end, header, self._ends.add(end)))

    def _take_foreign(self, end: End, count: int) -> None:
        window = self._window(end.frontier_ns, 0) if count else None
        if window is not None:
            window.counts["foreign"] += count

    # -- windows

    def _window(self, time_ns: int, samples: int) -> Window | None:
        """Returns the window of that time, to be changed; None if it is too old, which counts the samples."""
        start = self._windows.start_of(time_ns)
        too_old = self._windows.too_old(start)
        if too_old is not None:
            self.counters[too_old] += samples
            return None
        self._live.changed(start)
        return self._windows.to_change(start)

    def _notice(self, end: End) -> None:
        """Take in the time that an end's newest record tells of."""
        for before_ns in self._ends.notice(end):
            self._finality.touch(before_ns)


def _new_from_ns(end: End, header: Header, known_ns: int) -> int:
    """Returns a time before which the record tells nothing new, if all was known until `known_ns`."""
    if not header.gaps and not header.detached and not header.unwatched:
        return known_ns
    spans_ns = [gap.from_ns for gap in header.gaps]
    spans_ns += [span.from_ns for span in (*header.detached, *header.unwatched)]
    return min(known_ns, min(spans_ns) - end.late_by_ns)
