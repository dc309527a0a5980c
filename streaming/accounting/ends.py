"""One end of a path, as its records describe it: how far it has measured, and what it did not see."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.records import SECOND_NS, Header, Link, Role
from streaming.accounting import spans
from streaming.accounting.bounds import RECORD_RANGES, SPANS

Key = tuple[str, str, str]  # role, name, run
NEVER_NS: Final = -(1 << 62)


@dataclass(slots=True)
class RecordRange:
    """Record numbers without a hole, with the frontiers of the first and the last of them."""

    first: int
    last: int
    first_frontier_ns: int
    last_frontier_ns: int
    moved_ns: int | None = None  # the first frontier beyond that of the first record

    def extend(self, last: int, frontiers_ns: Iterable[int]) -> None:
        """Add the numbers up to `last`, with the frontiers of their records in order."""
        self.last = max(self.last, last)
        for frontier_ns in frontiers_ns:
            if self.moved_ns is None and frontier_ns > self.first_frontier_ns:
                self.moved_ns = frontier_ns
            self.last_frontier_ns = max(self.last_frontier_ns, frontier_ns)


def reach_ns(header: Header) -> int:
    """Returns a time beyond which the record tells nothing."""
    has_rows = header.kind in {"received", "ledger"}
    return max(header.frontier_ns, (header.second + 1) * SECOND_NS if has_rows else 0)


@dataclass(slots=True)
class End:
    """Times are the senders': a receiver's are converted by offset and bound as its record comes in."""

    role: Role
    name: str
    run: str
    born_ns: int  # its observed_from, by its own clock
    base: int  # the first of its record numbers that was seen
    ranges: list[RecordRange] = field(default_factory=list)
    frontier_ns: int = 0  # it has measured and published until then: of the last record before a hole
    bye: int | None = None  # the number of its clean end
    link: Link = "attached"
    own_frontier_ns: int = 0  # the newest, by its own clock
    # No record told of a later time; with an unknown clock, rows may be later than frontiers.
    reach_ns: int = 0
    oldest_due_ns: int | None = None
    clock: dict[str, tuple[int, int]] = field(default_factory=dict)  # by stream: offset, bound
    late_by_ns: int = 0  # offset + bound, the largest: taken off its frontier
    early_by_ns: int = 0  # offset − bound, the least: taken off where one of its spans ends
    open_ns: int | None = None  # a gap goes on until the frontier is beyond this
    gaps: spans.Spans = field(default_factory=list)
    detached: spans.Spans = field(default_factory=list)
    lost_ns: int | None = None  # a declared gap goes on until a record's frontier is beyond this
    heard_ns: int = NEVER_NS  # the path's append time at its newest record that came in time
    gone: bool = False  # silent, and left behind
    peer: str = ""  # the container id of who it was attached to last

    @classmethod
    def first_seen(cls, header: Header) -> End:
        """Returns the end that wrote this record, the first one seen of it.

        Numbers right before it that it declares as given up count as seen.
        """
        base = header.number
        for gap in sorted(header.gaps, reverse=True):
            if gap.last + 1 == base:
                base = gap.first
        return cls(header.role, header.name, header.run, header.observed_from_ns, base)

    @property
    def key(self) -> Key:
        return self.role, self.name, self.run

    @property
    def start_ns(self) -> int:
        """When it began to measure, at the latest."""
        return self.born_ns - self.early_by_ns

    @property
    def newest_ns(self) -> int:
        """The frontier of its newest record, whatever is missing before that."""
        return self.ranges[-1].last_frontier_ns

    @property
    def known_ns(self) -> int:
        """A time beyond which no record of it told anything."""
        return max(self.newest_ns, self.reach_ns)

    @property
    def said_bye(self) -> bool:
        """Whether it ended cleanly, and no record before its end is missing."""
        return self.bye is not None and self._base_range().last >= self.bye

    def seen(self, number: int) -> bool:
        """Returns whether a record with this number was taken in already."""
        last = self.ranges[-1].last if self.ranges else -1
        if number > last:
            return False
        place = bisect.bisect_right(self.ranges, number, key=lambda r: r.first) - 1
        return place >= 0 and number <= self.ranges[place].last

    def take(self, header: Header, streams: set[str]) -> None:
        """Take in the header of a record not seen before; of its clocks those of `streams` count, if any."""
        if header.clock and self.role == "receiver":
            self.clock = {stream: (c.offset_ns, c.bound_ns) for stream, c in header.clock.items()}
            pairs = [pair for stream, pair in self.clock.items() if stream in streams] or self.clock.values()
            self.late_by_ns = max(offset + bound for offset, bound in pairs)
            self.early_by_ns = min(offset - bound for offset, bound in pairs)
        frontier = header.frontier_ns - self.late_by_ns
        if self.ranges and header.number < self.base:
            frontier = NEVER_NS  # it tells of the time before the first record that was seen
        self._add_spans(header)
        for gap in header.gaps:
            self._add_numbers(gap.first, gap.last, gap.to_ns - self.late_by_ns)
        self._add_numbers(header.number, header.number, frontier)
        # Of a publication of several records only the last moves the frontier, and all tell of the time
        # before it: so lost records tell of the time until the first record after them that moves it.
        if self.open_ns is not None and self.frontier_ns > self.open_ns:
            spans.add(self.gaps, [(self.open_ns, self.frontier_ns)], SPANS)
            self.open_ns = None
        # A hole may hold back the end's frontier: for a declared gap the record's own frontier counts.
        if self.lost_ns is not None and frontier > self.lost_ns:
            spans.add(self.gaps, [(self.lost_ns, frontier)], SPANS)
            self.lost_ns = None
        to_ns = max((gap.to_ns for gap in header.gaps), default=-1)
        if to_ns >= header.frontier_ns and self.lost_ns is None:
            self.lost_ns = to_ns - self.late_by_ns
        self.reach_ns = max(self.reach_ns, reach_ns(header))
        if header.kind == "bye":
            self.bye = header.number
        if header.frontier_ns > self.own_frontier_ns:  # it tells of the end itself
            self.own_frontier_ns = header.frontier_ns
            self.link = header.link
            self.peer = header.peer or self.peer
            self.oldest_due_ns = header.oldest_due_ns

    def _add_spans(self, header: Header) -> None:
        """Add what it did not see, and when it was detached."""
        if header.gaps or header.unwatched:
            missed = [(gap.from_ns, max(gap.to_ns, header.frontier_ns)) for gap in header.gaps]
            spans.add(self.gaps, self._in_senders_time([*missed, *header.unwatched]), SPANS)
        if header.detached:
            spans.add(self.detached, self._in_senders_time(header.detached), SPANS)

    def _in_senders_time(self, own: Iterable[tuple[int, int]]) -> spans.Spans:
        """Returns spans of its own clock in the senders' time, longer by what the clock is unsure."""
        return [(from_ns - self.late_by_ns, to_ns - self.early_by_ns) for from_ns, to_ns in own]

    def give_up_hole(self) -> bool:
        """Take the numbers missing after the frontier as lost for good; returns whether any are missing."""
        place = self._base_place()
        if place + 1 == len(self.ranges):
            return False
        this, following = self.ranges[place], self.ranges.pop(place + 1)
        end_ns = following.first_frontier_ns if following.moved_ns is None else following.moved_ns
        spans.add(self.gaps, [(this.last_frontier_ns, end_ns)], SPANS)
        self.open_ns = end_ns if following.moved_ns is None else None
        this.extend(following.last, (following.first_frontier_ns, end_ns, following.last_frontier_ns))
        self.frontier_ns = this.last_frontier_ns
        return True

    def forget(self, before_ns: int) -> None:
        spans.forget(self.gaps, before_ns)
        spans.forget(self.detached, before_ns)

    def _base_place(self) -> int:
        if len(self.ranges) == 1:
            return 0
        return bisect.bisect_right(self.ranges, self.base, key=lambda r: r.first) - 1

    def _base_range(self) -> RecordRange:
        """Returns the range of `base`: where it ends, the first hole begins."""
        return self.ranges[self._base_place()]

    def _add_numbers(self, first: int, last: int, frontier_ns: int) -> None:
        ranges = self.ranges
        if ranges and ranges[-1].last + 1 == first:  # the usual case
            ranges[-1].extend(last, (frontier_ns,))
            self.frontier_ns = self._base_range().last_frontier_ns
            return
        ranges.append(RecordRange(first, last, frontier_ns, frontier_ns))
        ranges.sort(key=lambda r: r.first)
        joined: list[RecordRange] = []
        for item in ranges:
            if joined and item.first <= joined[-1].last + 1:
                moved_ns = item.first_frontier_ns if item.moved_ns is None else item.moved_ns
                joined[-1].extend(item.last, (item.first_frontier_ns, moved_ns, item.last_frontier_ns))
            else:
                joined.append(item)
        self.ranges = joined
        while len(self.ranges) > RECORD_RANGES:
            if not self.give_up_hole():
                # All holes are before the first number that was seen: they do not hold the frontier back.
                self.ranges[0].last = self.ranges.pop(1).last
        self.frontier_ns = self._base_range().last_frontier_ns

    def dump(self) -> list[Any]:
        return [
            *(self.role, self.name, self.run, self.born_ns, self.base),
            [[r.first, r.last, r.first_frontier_ns, r.last_frontier_ns, r.moved_ns] for r in self.ranges],
            *(self.frontier_ns, self.bye, self.link, self.own_frontier_ns, self.reach_ns),
            *(self.oldest_due_ns, self.clock),
            *(self.late_by_ns, self.early_by_ns, self.open_ns, self.gaps, self.detached, self.lost_ns),
            *(self.heard_ns, self.gone),
            *((self.peer,) if self.peer else ()),  # as an earlier program wrote it, where it has none
        ]

    @classmethod
    def load(cls, raw: list[Any]) -> End:
        end = cls(*raw)
        end.ranges = [RecordRange(*item) for item in raw[5]]
        end.clock = {stream: (pair[0], pair[1]) for stream, pair in end.clock.items()}
        end.gaps = [(span[0], span[1]) for span in end.gaps]
        end.detached = [(span[0], span[1]) for span in end.detached]
        return end
