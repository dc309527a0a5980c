"""Sums that only rise, made of counters that restart, appear and disappear."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Final

FORGET_ROUNDS: Final = 60  # a source missing for so long does not come back under its name


class CounterDeltas:
    """How much the counters of each source rose since the round before; a round reads all sources.

    In the first round that is 0: what was counted before is not ours. A source that appears later has
    counted since the round before, so it is all that the source counted, as after a restart.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[int, ...]] = {}
        self._missing: dict[Hashable, int] = {}
        self._seen: set[Hashable] = set()
        self._first = True
        self.resets = 0

    def start_round(self, *, restarted: bool = False) -> None:
        self._seen = set()
        if restarted:
            self._last.clear()
            self._missing.clear()
            self.resets += 1

    def increase(self, source: Hashable, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Take the source's counters of this round; return how much each rose since the round before."""
        before = self._last.get(source)
        self._last[source] = counts
        self._seen.add(source)
        if before is None:
            return (0,) * len(counts) if self._first else counts
        if counts == before:
            return (0,) * len(counts)
        if len(counts) != len(before) or min(added := tuple(map(operator.sub, counts, before))) < 0:
            self.resets += 1  # the source is another one of the same name: all of it is new
            return counts
        return added

    def end_round(self) -> None:
        """End a round; call it only where every source was read."""
        self._first = False
        for source in self._last.keys() - self._seen:
            missing = self._missing.get(source, 0) + 1
            if missing > FORGET_ROUNDS:
                del self._last[source]
                self._missing.pop(source, None)
            else:
                self._missing[source] = missing
        for source in self._missing.keys() & self._seen:
            del self._missing[source]


class MonotonicSums:
    """Sums of increases by group; a group to which nothing was added for long is forgotten."""

    def __init__(self, width: int, forget_ns: int) -> None:
        self._width = width
        self._forget_ns = forget_ns
        self._sums: dict[Hashable, list[int]] = {}
        self._added_ns: dict[Hashable, int] = {}

    def add(self, group: Hashable, increase: tuple[int, ...], now_ns: int) -> None:
        sums = self._sums.get(group)
        if sums is None:
            sums = self._sums[group] = [0] * self._width
        if any(increase):
            for place, amount in enumerate(increase):
                sums[place] += amount
        self._added_ns[group] = now_ns

    def forget_idle(self, now_ns: int) -> None:
        for group in [g for g, added_ns in self._added_ns.items() if now_ns - added_ns > self._forget_ns]:
            del self._sums[group]
            del self._added_ns[group]

    def __contains__(self, group: Hashable) -> bool:
        return group in self._sums

    def __len__(self) -> int:
        return len(self._sums)

    def groups(self) -> list[Hashable]:
        return list(self._sums)

    def get(self, group: Hashable) -> tuple[int, ...]:
        return tuple(self._sums[group])
