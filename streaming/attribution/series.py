"""Counters of one entity over polls, and how much they rose between two times: as bounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Final, NamedTuple

Values = tuple[int, ...]

MOST_STRETCHES: Final = 1_024


class Asked(NamedTuple):
    """When a poll asked, and when it was answered: what was told was so at some time between."""

    asked_ns: int
    answered_ns: int


class Rise(NamedTuple):
    """How much one counter rose from `from_ns` to `to_ns`.

    `inner` was counted by polls that lie wholly within, and so is no more than the truth. `outer` was counted
    by polls that hold all of it between them, and is no less; None where that cannot be told.
    """

    inner: int
    outer: int | None
    still: bool  # it stood still before and after, over two polls at each end
    closed: bool  # a poll that asked after `to_ns` is there
    opened_ns: int = 0  # `outer` counts what came after this ...
    closed_ns: int = 0  # ... and until this


NOTHING: Final = Rise(0, None, still=False, closed=False)


class Series:
    """Stretches of polls in which the counters stood still; what a poll adds to the last one costs nothing.

    A stretch is [first asked, first answered, last asked, last answered, values, broken]. Broken says that
    the values do not go on from those before: the difference is of no meaning.
    """

    __slots__ = ("_stretches",)

    def __init__(self, stretches: list[list[Any]] | None = None) -> None:
        self._stretches: list[list[Any]] = stretches or []

    def __bool__(self) -> bool:
        return bool(self._stretches)

    @property
    def last(self) -> Values | None:
        """The counters as they were told last."""
        return tuple(self._stretches[-1][4]) if self._stretches else None

    def add(self, asked: Asked, values: Values, *, broken: bool = False) -> None:
        """Take what a poll told. One that is older than the last, as after a way round, adds nothing."""
        stretches = self._stretches
        if stretches:
            last = stretches[-1]
            if asked.answered_ns <= last[3]:
                return
            before = last[4]
            broken = broken or any(new < old for new, old in zip(values, before, strict=True))
            if not broken and values == tuple(before):
                last[2], last[3] = max(asked.asked_ns, last[2]), asked.answered_ns
                return
        stretches.append(
            [asked.asked_ns, asked.answered_ns, asked.asked_ns, asked.answered_ns, values, broken]
        )
        if len(stretches) > MOST_STRETCHES:
            self.forget(stretches[-MOST_STRETCHES // 2][0])

    def end(self, at: Asked) -> None:
        """Note that the entity is gone: what it counted until then nobody knows."""
        if self._stretches:
            values = self._stretches[-1][4]
            self._stretches.append(
                [at.answered_ns, at.answered_ns, at.answered_ns, at.answered_ns, values, True]
            )

    def rise(self, counter: int, from_ns: int, to_ns: int) -> Rise:
        """Return how much the counter of this place rose between two times."""
        stretches = self._stretches
        if not stretches:
            return NOTHING
        first = bisect_right(stretches, from_ns, key=lambda one: one[1]) - 1  # told before `from_ns`
        last = bisect_left(stretches, to_ns, key=lambda one: one[2])  # the first asked after `to_ns`
        closed = last < len(stretches)
        outer = None
        if first >= 0 and closed:
            # In a stretch that reaches over both ends it stood still all the time.
            between = stretches[first + 1 : last + 1]
            if not any(one[5] for one in between):
                outer = stretches[last][4][counter] - stretches[first][4][counter] if between else 0
        still = outer is not None and self._stood(first, counter) and self._stood(last, counter)
        inner = self._inner(counter, from_ns, to_ns)
        if outer is None:
            return Rise(inner, None, still=False, closed=closed)
        opened_ns, closed_ns = min(from_ns, stretches[first][2]), max(to_ns, stretches[last][1])
        return Rise(inner, outer, still, closed, opened_ns, closed_ns)

    def _stood(self, place: int, counter: int) -> bool:
        """Return whether two polls agreed in this counter: of a queue, others go on meanwhile."""
        stretches = self._stretches
        here = stretches[place]
        if here[0] < here[2]:
            return True
        near = ((place - 1, here), (place + 1, stretches[place + 1] if place + 1 < len(stretches) else None))
        return any(
            other >= 0
            and later is not None
            and not later[5]
            and stretches[other][4][counter] == here[4][counter]
            for other, later in near
        )

    def _inner(self, counter: int, from_ns: int, to_ns: int) -> int:
        """Add up what rose from one poll to the next where both lie within."""
        total = 0
        before: Any = None
        start = max(0, bisect_left(self._stretches, from_ns, key=lambda one: one[2]) - 1)
        for one in self._stretches[start:]:
            if one[1] > to_ns:
                break
            if before is not None and not one[5] and before[2] >= from_ns:
                total += one[4][counter] - before[4][counter]
            before = one
        return total

    def standing(self, from_ns: int, to_ns: int, *, polls: int) -> Values | None:
        """Return the counters as the last poll within this time told them; None where there was none.

        With two polls, where the last two do not agree, either.
        """
        last = bisect_right(self._stretches, to_ns, key=lambda one: one[1]) - 1
        if last < 0:
            return None
        one = self._stretches[last]
        within = one[2] >= from_ns
        return tuple(one[4]) if within and (polls == 1 or one[0] < one[2]) else None

    def unbroken(self, from_ns: int, to_ns: int) -> bool:
        """Return whether counters told at these two times can be compared."""
        first = bisect_right(self._stretches, from_ns, key=lambda one: one[1]) - 1
        last = bisect_right(self._stretches, to_ns, key=lambda one: one[1]) - 1
        return first >= 0 and not any(one[5] for one in self._stretches[first + 1 : last + 1])

    def forget(self, before_ns: int) -> None:
        """Drop what was told before, but for the last that was."""
        keep = bisect_left(self._stretches, before_ns, key=lambda one: one[3]) - 1
        if keep > 0:
            del self._stretches[:keep]

    def encode(self) -> list[list[Any]]:
        return self._stretches
