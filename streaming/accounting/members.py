"""Who takes part in a window, and what of it was not observed: from what all ends of a path have told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from collectors.config.paths import Rules
from streaming.accounting import spans
from streaming.accounting.append_time import Passed
from streaming.accounting.ends import End, Key

FAR_NS: Final = 1 << 62


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
        self.passed = Passed(rules.gone_after_ns)
        self._successors: dict[Key, End] = {}

    def add(self, end: End) -> int:
        """A new end; since when it changes who takes part: it may end the life of the one before it."""
        self.ends[end.key] = end
        self._link()
        before = [other for other in self.ends.values() if self._successors.get(other.key) is end]
        return min([end.start_ns, *(other.frontier_ns for other in before)])

    def load(self, ends: list[End], newest_ns: int, passed: list[Any]) -> None:
        self.ends = {end.key: end for end in ends}
        self.newest_ns = newest_ns
        self.passed = Passed(self.rules.gone_after_ns, *passed)
        self._link()

    def life(self, end: End) -> Life:
        """It ends by bye, by a successor, or gone."""
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

    def notice(self, told: End) -> Iterator[int]:
        """Bring up to date what an end's newest record made known.

        Yields the frontier that an end had before its missing records were given up by that, or before it
        became gone, or was heard of again.
        """
        gone_after_ns = self.rules.gone_after_ns
        newest_ns = self.newest_ns = max(self.newest_ns, told.newest_ns)
        left_ns, silent_ns = newest_ns - gone_after_ns, self.passed.now_ns - gone_after_ns
        # Where it is further back than anything can change, its clock is wrong: nobody waits for it.
        if told.newest_ns > newest_ns - self.rules.horizon_ns:
            told.heard_ns = self.passed.now_ns
        for end in self.ends.values():
            before = end.frontier_ns
            if before > left_ns and not end.gone:  # the main road
                continue
            while end.frontier_ns <= left_ns and end.give_up_hole():
                pass
            gone = end.frontier_ns <= left_ns and end.heard_ns <= silent_ns
            if gone != end.gone or end.frontier_ns != before:
                end.gone = gone
                yield before

    def living(self) -> list[End]:
        """Those that may still tell something."""
        return [end for end in self.ends.values() if self.lives(end)]

    def lives(self, end: End) -> bool:
        """Whether its life has no end; asked for each record."""
        return not (end.gone or end.said_bye or end.key in self._successors)

    def frontier_ns(self) -> int | None:
        """Until when all ends that live have measured; None where none lives."""
        living = False
        found = FAR_NS
        for key, end in self.ends.items():
            if key in self._successors:
                continue
            if end.bye is not None and end.said_bye:
                found = min(found, self._followed_from_ns(end))
            elif not end.gone:
                living = True
                # An end is no member of what was settled before it began, wherever its frontier stands.
                found = min(found, max(end.frontier_ns, end.born_ns - end.early_by_ns))
        return found if living else None

    def settled_ns(self, frontier_ns: int | None) -> int:
        """Windows that begin before are final: all their members have measured far enough, or have ended."""
        settle_ns = self.rules.settle_ns
        if frontier_ns is not None:
            return frontier_ns - settle_ns - self.rules.window_ns + 1
        found = max((self.life(end).stop_ns or 0 for end in self.ends.values()), default=0)
        ended = [end for end in self.ends.values() if end.said_bye and end.key not in self._successors]
        # Whoever else has ended, ended so much later only where append time has gone on as far.
        return min([found, *(self._followed_from_ns(end) + settle_ns for end in ended)])

    def _followed_from_ns(self, ended: End) -> int:
        """Who follows a clean end began after this: its records may wait behind those of the one before.

        Time passes as it would live, and once windows would have settled nobody is waited for.
        """
        passed_ns = self.passed.now_ns - ended.heard_ns
        return ended.frontier_ns + passed_ns if passed_ns < self.rules.settle_ns else FAR_NS

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
