"""All ends of a path: how long each lives, who takes part in a window, and what of it nobody observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from collectors.config.paths import Rules
from streaming.accounting import spans
from streaming.accounting.append_time import AppendTime
from streaming.accounting.ends import End, Key

FAR_NS: Final = 1 << 62


class Life(NamedTuple):
    """From when to when an end counts as present; it lives while `stop_ns` is None."""

    start_ns: int
    stop_ns: int | None
    silent_from_ns: int | None  # from then until `stop_ns` it told nothing

    def meets(self, start_ns: int, end_ns: int) -> bool:
        return self.start_ns < end_ns and (self.stop_ns is None or self.stop_ns > start_ns)


@dataclass(slots=True)
class Coverage:
    """Who took part in one window, and what of it was observed."""

    members: list[End]
    senders: int  # by name
    receivers: int  # by name, those present all the time
    blind_ns: int  # in seconds that begin before, something may have arrived unobserved
    sender_gap: bool
    detached: spans.Spans  # of the receivers
    lives: dict[str, Life]  # of the member senders, by run


class PathEnds:
    """The ends of one path that are known, and its append time."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.by_key: dict[Key, End] = {}
        self.newest_ns = 0
        self.append_time = AppendTime(rules.gone_after_ns)
        self._successors: dict[Key, End] = {}

    def add(self, end: End) -> int:
        """Add an end; returns since when that changes who takes part, as it may end the life of another."""
        self.by_key[end.key] = end
        self._link()
        before = [other for other in self.by_key.values() if self._successors.get(other.key) is end]
        return min([end.start_ns, *(other.frontier_ns for other in before)])

    def load(self, ends: list[End], newest_ns: int, append_time: list[Any]) -> None:
        self.by_key = {end.key: end for end in ends}
        self.newest_ns = newest_ns
        self.append_time = AppendTime(self.rules.gone_after_ns, *append_time)
        self._link()

    def life(self, end: End) -> Life:
        """Returns how long it lives: until it says bye, has a successor or is gone."""
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

    def notice(self, heard: End) -> Iterator[int]:
        """Take in the time that an end's newest record made known: others may be gone by it.

        Yields the frontier that an end had before missing records of it were given up, before it became gone,
        or before it was heard of again.
        """
        gone_after_ns = self.rules.gone_after_ns
        newest_ns = self.newest_ns = max(self.newest_ns, heard.newest_ns)
        left_ns, silent_ns = newest_ns - gone_after_ns, self.append_time.now_ns - gone_after_ns
        # Where it is further back than anything can change, its clock is wrong: nobody waits for it.
        if heard.newest_ns > newest_ns - self.rules.horizon_ns:
            heard.heard_ns = self.append_time.now_ns
        for end in self.by_key.values():
            before = end.frontier_ns
            if before > left_ns and not end.gone:  # the usual case
                continue
            while end.frontier_ns <= left_ns and end.give_up_hole():
                pass
            gone = end.frontier_ns <= left_ns and end.heard_ns <= silent_ns
            if gone != end.gone or end.frontier_ns != before:
                end.gone = gone
                yield before

    def living(self) -> list[End]:
        """Returns the ends whose life has not ended."""
        return [end for end in self.by_key.values() if self.lives(end)]

    def lives(self, end: End) -> bool:
        """Returns whether its life has not ended; asked for each record."""
        return not (end.gone or end.said_bye or end.key in self._successors)

    def frontier_ns(self) -> int | None:
        """Returns until when all living ends have measured, or None where none lives."""
        living = False
        found = FAR_NS
        for key, end in self.by_key.items():
            if key in self._successors:
                continue
            if end.bye is not None and end.said_bye:
                found = min(found, self._successor_from_ns(end))
            elif not end.gone:
                living = True
                # An end is no member of windows that were settled before it began, whatever its frontier.
                found = min(found, max(end.frontier_ns, end.born_ns - end.early_by_ns))
        return found if living else None

    def settled_ns(self, frontier_ns: int | None) -> int:
        """Returns the time before which windows begin that are final.

        All their members have measured as far as the deadline, or have ended.
        """
        settle_ns = self.rules.settle_ns
        if frontier_ns is not None:
            return frontier_ns - settle_ns - self.rules.window_ns + 1
        found = max((self.life(end).stop_ns or 0 for end in self.by_key.values()), default=0)
        ended = [end for end in self.by_key.values() if end.said_bye and end.key not in self._successors]
        # An end that said bye may have a successor until append time has gone on for settle.
        return min([found, *(self._successor_from_ns(end) + settle_ns for end in ended)])

    def _successor_from_ns(self, ended: End) -> int:
        """Returns a time after which the successor of a clean end began, if it has one.

        Its records may wait behind those of this end. Until settle has passed in append time, it is waited
        for as a living end would be.
        """
        passed_ns = self.append_time.now_ns - ended.heard_ns
        return ended.frontier_ns + passed_ns if passed_ns < self.rules.settle_ns else FAR_NS

    def coverage(self, start_ns: int, deadline_ns: int) -> Coverage:
        """Returns that of the window from `start_ns`, whose messages may arrive until `deadline_ns`."""
        lives = {key: self.life(end) for key, end in self.by_key.items()}
        members = [end for key, end in self.by_key.items() if lives[key].meets(start_ns, deadline_ns)]
        senders = {end.run: lives[end.key] for end in members if end.role == "sender"}
        # Before there was a sender, nothing could be missed.
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
        return Coverage(
            members=sorted(members, key=lambda end: end.key),
            senders=len({end.name for end in members if end.role == "sender"}),
            receivers=sum(not spans.uncovered(each, begin_ns, deadline_ns) for each in covered.values()),
            blind_ns=max((min(to_ns, deadline_ns) for _, to_ns in unseen), default=0),
            sender_gap=sender_gap,
            detached=detached,
            lives=senders,
        )

    def earliest_ns(self) -> int | None:
        """Returns when the first of the ends began that were seen from their number 0."""
        return min((end.start_ns for end in self.by_key.values() if end.base == 0), default=None)

    def is_past(self, reach_ns: int, kept_ns: int) -> bool:
        """Returns whether what an end told, of no later time than `reach_ns`, concerns no kept window."""
        return reach_ns + self.rules.gone_after_ns < kept_ns

    def drop(self, end: End) -> None:
        del self.by_key[end.key]
        self._link()

    def forget(self, kept_ns: int) -> None:
        """Drop what concerns no window from `kept_ns` on."""
        dropped = []
        for end in self.by_key.values():
            end.forget(kept_ns)
            # Later than `is_past` by as much again: repeats of its records must not make it anew.
            if self.is_past(end.known_ns + self.rules.gone_after_ns, kept_ns):
                dropped.append(end.key)
        for key in dropped:
            del self.by_key[key]
        if dropped:
            self._link()

    def _link(self) -> None:
        """Find the successor of each end: of the same role and name, the one that began next."""
        self._successors = {}
        last: dict[tuple[str, str], End] = {}
        for end in sorted(self.by_key.values(), key=lambda end: (end.born_ns, end.run)):
            before = last.get((end.role, end.name))
            if before is not None:
                self._successors[before.key] = end
            last[end.role, end.name] = end


def _missed(end: End, life: Life, begin_ns: int, deadline_ns: int) -> spans.Spans:
    """Returns the gaps of an end that meet [begin, deadline)."""
    gaps = list(end.gaps)
    if life.silent_from_ns is not None and life.stop_ns is not None:
        gaps.append((life.silent_from_ns, life.stop_ns))
    if life.stop_ns is None and end.frontier_ns < deadline_ns:
        # When the window became final it was taken for gone or not known: it has still to tell of this time.
        gaps.append((end.frontier_ns, deadline_ns))
    return [gap for gap in gaps if gap[0] < deadline_ns and gap[1] > begin_ns and gap[0] < gap[1]]
