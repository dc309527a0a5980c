"""One sender or receiver process as its records tell of it: how far it has measured, and what it missed."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.records import SECOND_NS, Header, Link, Role
from streaming.accounting import spans
from streaming.accounting.bounds import RANGES, SPANS

Key = tuple[str, str, str]  # role, name, run
NEVER_NS: Final = -(1 << 62)


@dataclass(slots=True)
class Range:
    """Record numbers without a hole, with the frontiers of the first and the last of them."""

    first: int
    last: int
    first_frontier_ns: int
    last_frontier_ns: int
    moved_ns: int | None = None  # the first frontier beyond the first one

    def extend(self, last: int, frontiers_ns: Iterable[int]) -> None:
        self.last = max(self.last, last)
        for frontier_ns in frontiers_ns:
            if self.moved_ns is None and frontier_ns > self.first_frontier_ns:
                self.moved_ns = frontier_ns
            self.last_frontier_ns = max(self.last_frontier_ns, frontier_ns)


def reach_ns(header: Header) -> int:
    """Of no later time does a record tell."""
    has_rows = header.kind in {"received", "ledger"}
    return max(header.frontier_ns, (header.second + 1) * SECOND_NS if has_rows else 0)


@dataclass(slots=True)
class End:
    """Times are the senders': a receiver's are put back by offset and bound as its record comes in."""

    role: Role
    name: str
    run: str
    born_ns: int  # its observed_from, as its own clock says
    base: int  # the first number of it that was seen
    ranges: list[Range] = field(default_factory=list)
    frontier_ns: int = 0  # it has measured, and published, until then: of the last record before a hole
    bye: int | None = None  # the number of its clean end
    link: Link = "attached"
    told_ns: int = 0  # the newest frontier as its own clock says
    reach_ns: int = (
        0  # no record of it told of a later time; with a clock unknown rows may be later than frontiers
    )
    oldest_due_ns: int | None = None
    clock: dict[str, tuple[int, int]] = field(default_factory=dict)  # by stream: offset, bound
    late_by_ns: int = 0  # offset + bound, the largest: taken off its frontier
    early_by_ns: int = 0  # offset − bound, the least: taken off where a span of its time ends
    open_ns: int | None = None  # a gap reaches until the frontier is beyond this
    gaps: spans.Spans = field(default_factory=list)
    detached: spans.Spans = field(default_factory=list)
    lost_ns: int | None = None  # a declared gap reaches until a record's frontier is beyond this
    heard_ns: int = NEVER_NS  # when the path's append time took a record of it that came in time
    gone: bool = False  # silent, and left behind

    @classmethod
    def first_seen(cls, header: Header) -> End:
        """Of the first record that is seen of it; numbers declared as given up before it count as seen."""
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
        """When it began to measure, the later for an unsure clock."""
        return self.born_ns - self.early_by_ns

    @property
    def newest_ns(self) -> int:
        """The frontier of its newest record, whatever is missing before."""
        return self.ranges[-1].last_frontier_ns

    @property
    def known_ns(self) -> int:
        """Of no later time did any record of it tell."""
        return max(self.newest_ns, self.reach_ns)

    @property
    def said_bye(self) -> bool:
        """It ended cleanly, and nothing of it is missing."""
        return self.bye is not None and self._based().last >= self.bye

    def seen(self, number: int) -> bool:
        """Whether a record with this number was taken in already."""
        last = self.ranges[-1].last if self.ranges else -1
        if number > last:
            return False
        place = bisect.bisect_right(self.ranges, number, key=lambda r: r.first) - 1
        return place >= 0 and number <= self.ranges[place].last

    def take(self, header: Header, streams: set[str]) -> None:
        """Take in the header of a record not seen before; of its clocks those of `streams` count."""
        if header.clock and self.role == "receiver":
            self.clock = {stream: (c.offset_ns, c.bound_ns) for stream, c in header.clock.items()}
            pairs = [pair for stream, pair in self.clock.items() if stream in streams] or self.clock.values()
            self.late_by_ns = max(offset + bound for offset, bound in pairs)
            self.early_by_ns = min(offset - bound for offset, bound in pairs)
        frontier = header.frontier_ns - self.late_by_ns
        if self.ranges and header.number < self.base:
            frontier = NEVER_NS  # of the time before it was joined
        self._spans(header)
        for gap in header.gaps:
            self._number(gap.first, gap.last, gap.to_ns - self.late_by_ns)
        self._number(header.number, header.number, frontier)
        # Of a publication of several records only the last moves the frontier, and all tell of the time
        # before that: lost records tell of the time until the first of those after them that moves it.
        if self.open_ns is not None and self.frontier_ns > self.open_ns:
            spans.add(self.gaps, [(self.open_ns, self.frontier_ns)], SPANS)
            self.open_ns = None
        # A hole before them may hold the frontier back: of declared ones the records' own frontiers count.
        if self.lost_ns is not None and frontier > self.lost_ns:
            spans.add(self.gaps, [(self.lost_ns, frontier)], SPANS)
            self.lost_ns = None
        to_ns = max((gap.to_ns for gap in header.gaps), default=-1)
        if to_ns >= header.frontier_ns and self.lost_ns is None:
            self.lost_ns = to_ns - self.late_by_ns
        self.reach_ns = max(self.reach_ns, reach_ns(header))
        if header.kind == "bye":
            self.bye = header.number
        if header.frontier_ns > self.told_ns:  # the last of a publication: it tells of the end itself
            self.told_ns = header.frontier_ns
            self.link = header.link
            self.oldest_due_ns = header.oldest_due_ns

    def _spans(self, header: Header) -> None:
        """What it did not see, and when it was detached: of its own time."""
        if header.gaps or header.unwatched:
            missed = [(gap.from_ns, max(gap.to_ns, header.frontier_ns)) for gap in header.gaps]
            spans.add(self.gaps, self._put_back([*missed, *header.unwatched]), SPANS)
        if header.detached:
            spans.add(self.detached, self._put_back(header.detached), SPANS)

    def _put_back(self, own: Iterable[tuple[int, int]]) -> spans.Spans:
        """Into the senders' time, none the shorter for an unsure clock."""
        return [(from_ns - self.late_by_ns, to_ns - self.early_by_ns) for from_ns, to_ns in own]

    def give_up_hole(self) -> bool:
        """Take the numbers missing after the frontier as lost for good; False where nothing follows them."""
        place = self._place()
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

    def _place(self) -> int:
        if len(self.ranges) == 1:
            return 0
        return bisect.bisect_right(self.ranges, self.base, key=lambda r: r.first) - 1

    def _based(self) -> Range:
        return self.ranges[self._place()]

    def _number(self, first: int, last: int, frontier_ns: int) -> None:
        ranges = self.ranges
        if ranges and ranges[-1].last + 1 == first:  # the main road
            ranges[-1].extend(last, (frontier_ns,))
            self.frontier_ns = self._based().last_frontier_ns
            return
        ranges.append(Range(first, last, frontier_ns, frontier_ns))
        ranges.sort(key=lambda r: r.first)
        joined: list[Range] = []
        for item in ranges:
            if joined and item.first <= joined[-1].last + 1:
                moved_ns = item.first_frontier_ns if item.moved_ns is None else item.moved_ns
                joined[-1].extend(item.last, (item.first_frontier_ns, moved_ns, item.last_frontier_ns))
            else:
                joined.append(item)
        self.ranges = joined
        while len(self.ranges) > RANGES:
            if not self.give_up_hole():
                # All of them are before the first number seen, where they do not bear on the frontier.
                self.ranges[0].last = self.ranges.pop(1).last
        self.frontier_ns = self._based().last_frontier_ns

    def dump(self) -> list[Any]:
        return [
            *(self.role, self.name, self.run, self.born_ns, self.base),
            [[r.first, r.last, r.first_frontier_ns, r.last_frontier_ns, r.moved_ns] for r in self.ranges],
            *(
                self.frontier_ns,
                self.bye,
                self.link,
                self.told_ns,
                self.reach_ns,
                self.oldest_due_ns,
                self.clock,
            ),
            *(self.late_by_ns, self.early_by_ns, self.open_ns, self.gaps, self.detached, self.lost_ns),
            *(self.heard_ns, self.gone),
        ]

    @classmethod
    def load(cls, raw: list[Any]) -> End:
        end = cls(*raw)
        end.ranges = [Range(*item) for item in raw[5]]
        end.clock = {stream: (pair[0], pair[1]) for stream, pair in end.clock.items()}
        end.gaps = [(span[0], span[1]) for span in end.gaps]
        end.detached = [(span[0], span[1]) for span in end.detached]
        return end
