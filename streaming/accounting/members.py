"""Who takes part in a window, and what of it was not observed: from what all ends of a path have told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from collectors.paths import Rules
from streaming.accounting import spans
from streaming.accounting.ends import End, Key


class Life(NamedTuple):
    """From when to when an end counts as there; it lives while `stop_ns` is None."""

    start_ns: int
    stop_ns: int | None
    silent_from_ns: int | None  # what comes after, until it stops, it did not tell

    def meets(self, start_ns: int, end_ns: int) -> bool:
        return self.start_ns < end_ns and (self.stop_ns is None or self.stop_ns > start_ns)


@dataclass(slots=True)
class View:
    """What the ends say of one window."""

    members: list[End]
    senders: int  # by name
    receivers: int  # by name, that were there all the time
    blind_ns: int  # of seconds that begin before, something may have arrived unobserved
    sender_gap: bool
    detached: spans.Spans  # of the receivers
    lives: dict[str, Life]  # of the member senders, by run


class Members:
    """The ends of one path."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ends: dict[Key, End] = {}
        self.newest_ns = 0
        self._successors: dict[Key, End] = {}

    def add(self, end: End) -> None:
        self.ends[end.key] = end
        self._link()

    def load(self, ends: list[End], newest_ns: int) -> None:
        self.ends = {end.key: end for end in ends}
        self.newest_ns = newest_ns
        self._link()

    def life(self, end: End) -> Life:
        """It ends by bye, by a successor, or gone: when the path is `gone_after` further than it."""
        frontier = end.frontier_ns
        if end.said_bye:
            return Life(end.start_ns, frontier, None)
        limit = frontier + self.rules.gone_after_ns
        if self.lives(end):
            return Life(end.start_ns, None, None)
        successor = self._successors.get(end.key)
        if successor is not None:
            return Life(end.start_ns, min(max(frontier, successor.start_ns), limit), frontier)
        return Life(end.start_ns, limit, frontier)

    def notice(self, told: End) -> Iterator[tuple[End, int]]:
        """Bring up to date what an end's newest record made known.

        Yields each end whose missing records were given up by that, with its frontier before.
        """
        self.newest_ns = max(self.newest_ns, told.newest_ns)
        for end in self.ends.values():
            if len(end.ranges) == 1:
                continue
            before = end.frontier_ns
            while end.frontier_ns + self.rules.gone_after_ns <= self.newest_ns and end.give_up_hole():
                pass
            if end.frontier_ns != before:
                yield end, before

    def living(self) -> list[End]:
        """Those that may still tell something."""
        return [end for end in self.ends.values() if self.lives(end)]

    def lives(self, end: End) -> bool:
        """Whether its life has no end; asked for each record."""
        if end.frontier_ns + self.rules.gone_after_ns <= self.newest_ns or end.said_bye:
            return False
        return not self._successors or end.key not in self._successors

    def frontier_ns(self) -> int | None:
        """Until when all ends that live have measured; None where none lives."""
        # An end is no member of what was settled before it began, wherever its frontier stands.
        return min((max(end.frontier_ns, end.start_ns) for end in self.living()), default=None)

    def settled_ns(self, frontier_ns: int | None) -> int:
        """Windows that begin before are final: all their members have measured far enough, or have ended."""
        if frontier_ns is not None:
            return frontier_ns - self.rules.settle_ns - self.rules.window_ns + 1
        return max((self.life(end).stop_ns or 0 for end in self.ends.values()), default=0)

    def view(self, start_ns: int, deadline_ns: int) -> View:
        """Of the window from `start_ns`, whose messages may arrive until `deadline_ns`."""
        lives = {key: self.life(end) for key, end in self.ends.items()}
        members = [end for key, end in self.ends.items() if lives[key].meets(start_ns, deadline_ns)]
        senders = {end.run: lives[end.key] for end in members if end.role == "sender"}
        # Before a sender was there, nothing could be missed.
        begin_ns = max(start_ns, min((life.start_ns for life in senders.values()), default=start_ns))
        covered: dict[str, spans.Spans] = {}
        unseen: spans.Spans = []
        detached: spans.Spans = []
        sender_gap = False
        for end in members:
            life = lives[end.key]
            missed = _missed(end, life, begin_ns, deadline_ns)
            if end.role == "sender":
                sender_gap = sender_gap or bool(missed)
                continue
            unseen += missed
            detached += end.detached
            stop_ns = deadline_ns if life.stop_ns is None else life.stop_ns
            covered.setdefault(end.name, []).append((life.start_ns, stop_ns))
        together = [span for each in covered.values() for span in each]
        unseen += spans.uncovered(together, begin_ns, deadline_ns)
        return View(
            members=sorted(members, key=lambda end: end.key),
            senders=len({end.name for end in members if end.role == "sender"}),
            receivers=sum(not spans.uncovered(each, begin_ns, deadline_ns) for each in covered.values()),
            blind_ns=max((min(to_ns, deadline_ns) for _, to_ns in unseen), default=0),
            sender_gap=sender_gap,
            detached=detached,
            lives=senders,
        )

    def earliest_ns(self) -> int | None:
        """When the first of the ends that were seen from their beginning began."""
        return min((end.start_ns for end in self.ends.values() if end.base == 0), default=None)

    def is_past(self, reach_ns: int, kept_ns: int) -> bool:
        """Whether what an end tells until then cannot concern any window from `kept_ns` on."""
        return reach_ns + self.rules.gone_after_ns < kept_ns

    def drop(self, end: End) -> None:
        del self.ends[end.key]
        self._link()

    def forget(self, kept_ns: int) -> None:
        """Drop what only concerned windows before."""
        dropped = []
        for end in self.ends.values():
            end.forget(kept_ns)
            # Later than `is_past` by as much again: repeats of its records must not make it anew.
            if self.is_past(end.known_ns + self.rules.gone_after_ns, kept_ns):
                dropped.append(end.key)
        for key in dropped:
            del self.ends[key]
        if dropped:
            self._link()

    def _link(self) -> None:
        """Who follows whom: of the same role and name, the one that began next."""
        self._successors = {}
        last: dict[tuple[str, str], End] = {}
        for end in sorted(self.ends.values(), key=lambda end: (end.born_ns, end.run)):
            before = last.get((end.role, end.name))
            if before is not None:
                self._successors[before.key] = end
            last[end.role, end.name] = end


def _missed(end: End, life: Life, begin_ns: int, deadline_ns: int) -> spans.Spans:
    """The gaps of an end that meet [begin, deadline)."""
    gaps = list(end.gaps)
    if life.silent_from_ns is not None and life.stop_ns is not None:
        gaps.append((life.silent_from_ns, life.stop_ns))
    if life.stop_ns is None and end.frontier_ns < deadline_ns:
        # Taken for gone, or not known, when the window became final: it has still to tell.
        gaps.append((end.frontier_ns, deadline_ns))
    return [gap for gap in gaps if gap[0] < deadline_ns and gap[1] > begin_ns and gap[0] < gap[1]]
