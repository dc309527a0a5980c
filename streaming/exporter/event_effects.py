"""How soon what an event did was seen, and how soon it was over; the definitions stand in accounting.md."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from collectors.contract.events import Event, Key
from collectors.contract.window_rows import WindowRow
from streaming.exporter.window_verdict import verdict

SECOND_NS: Final = 10**9
WATCH_NS: Final = 30 * SECOND_NS  # trouble that begins so long after an event's end is still its own
GONE_NS: Final = 3_600 * SECOND_NS  # after its end it is told no longer
UNENDED_NS: Final = 24 * GONE_NS  # ... nor an action whose end nobody ever told
MAX_EVENTS: Final = 20
MAX_WINDOWS: Final = 4_096  # of a path
MAX_SIGNS: Final = 256  # of a path
MAX_KEPT: Final = 200_000  # windows and signs of all paths


class Window(NamedTuple):
    """A final window that was not clean."""

    end_ns: int
    bad: bool
    lost: int


class Sign(NamedTuple):
    """Trouble as rows told it, from `at_ns` to `last_ns` by the path's time; when the exporter showed it."""

    shown_ns: int
    at_ns: int
    last_ns: int


class Effect(NamedTuple):
    """What is known so far.

    None: nothing was detected, not all that it touched is clean again, or there is no window of its time.
    """

    detected_ns: int | None = None  # after its begin
    recovered_ns: int | None = None  # after its end
    touched: int | None = None  # paths
    recovered: int = 0  # of them
    lost: int | None = None


@dataclass(slots=True)
class Trouble:
    """A path's trouble; of windows in [`since_ns`, `high_ns`) all that are not here are clean."""

    since_ns: int | None = None
    high_ns: int = 0
    windows: dict[int, Window] = field(default_factory=dict)  # by start
    starts: list[int] = field(default_factory=list)  # of the windows, in order
    signs: list[Sign] = field(default_factory=list)
    live_ns: int = 0
    troubled: bool = False  # by the newest live row

    def kept(self) -> int:
        return len(self.windows) + len(self.signs)

    def put(self, start_ns: int, window: Window | None) -> None:
        """Take a window that is not clean, or None for one that is after all."""
        if window is None:
            if self.windows.pop(start_ns, None) is not None:
                self.starts.remove(start_ns)
            return
        if start_ns not in self.windows:
            insort(self.starts, start_ns)
        self.windows[start_ns] = window

    def forget_oldest(self) -> None:
        if self.starts:
            self.since_ns = self.windows.pop(self.starts.pop(0)).end_ns

    def knows(self, from_ns: int, until_ns: int | None) -> bool:
        """Return whether there is a window that meets [from, until)."""
        begins_before = self.since_ns is not None and (until_ns is None or self.since_ns < until_ns)
        return begins_before and self.high_ns > from_ns

    def first_bad(self, from_ns: int, until_ns: int | None) -> int | None:
        """Return the end of the first bad window that meets [from, until)."""
        for start_ns in self._from(from_ns):
            if until_ns is not None and start_ns >= until_ns:
                return None
            if self.windows[start_ns].bad:
                return self.windows[start_ns].end_ns
        return None

    def clean_from(self, after_ns: int) -> int | None:
        """Return where the first clean window begins that ends after this time, or None: not known yet.

        It is the time itself for one that began before.
        """
        for start_ns in self._from(after_ns):
            if start_ns > after_ns:
                break
            after_ns = self.windows[start_ns].end_ns
        return after_ns if after_ns < self.high_ns else None

    def lost(self, from_ns: int, until_ns: int | None) -> int:
        """Return how many were lost in the windows that meet [from, until)."""
        total = 0
        for start_ns in self._from(from_ns):
            if until_ns is not None and start_ns >= until_ns:
                break
            total += self.windows[start_ns].lost
        return total

    def _from(self, from_ns: int) -> Iterator[int]:
        """Yield the starts of windows that end after this time; they do not overlap."""
        first = bisect_left(self.starts, from_ns)
        if first and self.windows[self.starts[first - 1]].end_ns > from_ns:
            first -= 1
        for index in range(first, len(self.starts)):
            yield self.starts[index]


class EventEffects:
    """Takes events, and rows that were counted, in any order to each other; what it keeps is bounded."""

    def __init__(self) -> None:
        self.paths: Final[dict[str, Trouble]] = {}
        self._events: Final[dict[Key, Event]] = {}
        self._kept = 0

    def add_event(self, event: Event) -> None:
        """Take an event or its end; the newest are kept, and no maintenance.

        It keeps the text of its begin, so that its series stay the same ones.
        """
        if event.kind == "maintenance":
            return
        known = self._events.get(event.key)
        if known is None:
            self._events[event.key] = event
        elif known.until_ns is None or event.until_ns is not None:
            self._events[event.key] = replace(event, text=known.text)
        while len(self._events) > MAX_EVENTS:
            del self._events[min(self._events)]

    def add_window(self, row: WindowRow, shown_ns: int) -> None:
        """Take a final row that was not counted before, or a revision that was not; when it was shown."""
        found, start_ns = verdict(row), row["window_start_ns"]
        end_ns = start_ns + row["window_ns"]
        trouble = self._trouble(row["path"])
        before = trouble.kept()
        if trouble.since_ns is None:
            trouble.since_ns = trouble.high_ns = start_ns
        if start_ns > trouble.high_ns:
            trouble.put(trouble.high_ns, Window(start_ns, bad=False, lost=0))  # nobody tells of that time
        trouble.high_ns = max(trouble.high_ns, end_ns)
        lost = row["classes"].get("lost", 0)
        trouble.put(start_ns, None if found == "clean" else Window(end_ns, found == "bad", lost))
        if found == "bad" and not any(sign.last_ns >= start_ns for sign in reversed(trouble.signs)):
            trouble.signs.append(Sign(shown_ns, end_ns - 1, end_ns - 1))  # no live row told of it
        self._bound(trouble, before)

    def add_live(self, path: str, at_ns: int, shown_ns: int, *, troubled: bool) -> None:
        """Take what a live row of this time tells, and when it was shown; older ones than known are none."""
        trouble = self._trouble(path)
        if at_ns < trouble.live_ns:
            return
        if not troubled:  # most rows, so nothing more is done for them
            trouble.live_ns, trouble.troubled = at_ns, False
            return
        before = trouble.kept()
        if trouble.troubled and trouble.signs:
            trouble.signs[-1] = trouble.signs[-1]._replace(last_ns=max(at_ns, trouble.signs[-1].last_ns))
        else:
            trouble.signs.append(Sign(shown_ns, at_ns, at_ns))
        trouble.live_ns, trouble.troubled = at_ns, True
        self._bound(trouble, before)

    def clear(self) -> None:
        """Forget all paths."""
        self.paths.clear()
        self._kept = 0

    def forget(self, path: str) -> None:
        trouble = self.paths.pop(path, None)
        self._kept -= trouble.kept() if trouble else 0

    def told(self, now_ns: int) -> list[tuple[Event, Effect]]:
        """Return the events of late with their effects, in the order of their begins."""
        found = []
        for each in sorted(self._events):
            event = self._events[each]
            ended_ns = end_ns(event)
            gone_ns = event.at_ns + UNENDED_NS if ended_ns is None else ended_ns + GONE_NS
            if event.at_ns <= now_ns < gone_ns:
                found.append((event, self.effect(event)))
        return found

    def effect(self, event: Event) -> Effect:
        """Return what is known of an event's effect on the paths that it concerns."""
        ended_ns = end_ns(event)
        watched_ns = None if ended_ns is None else ended_ns + WATCH_NS
        detected: list[int] = []
        recovered: list[int] = []
        touched = lost = 0
        known = any(
            trouble.knows(event.at_ns, watched_ns) and event.concerns(name)
            for name, trouble in self.paths.items()
        )
        for name, trouble in self.paths.items():
            if not (trouble.starts or trouble.signs) or not event.concerns(name):
                continue
            sign = _first_sign(trouble, event.at_ns, watched_ns)
            if sign is not None:
                detected.append(max(0, sign.shown_ns - event.at_ns))
            bad_ns = trouble.first_bad(event.at_ns, watched_ns)
            if bad_ns is None:
                continue
            touched += 1
            clean_ns = None if ended_ns is None else trouble.clean_from(max(ended_ns, bad_ns))
            lost += trouble.lost(event.at_ns, clean_ns)
            if ended_ns is not None and clean_ns is not None:
                recovered.append(clean_ns - ended_ns)
        return Effect(
            detected_ns=min(detected, default=None),
            recovered_ns=max(recovered) if recovered and len(recovered) == touched else None,
            touched=touched if known else None,
            recovered=len(recovered),
            lost=lost if known else None,
        )

    def dump(self) -> dict[str, Any]:
        """Return what is known of paths, as JSON; events are read again."""
        return {
            name: [
                [trouble.since_ns, trouble.high_ns, trouble.live_ns, trouble.troubled],
                [[start_ns, *trouble.windows[start_ns]] for start_ns in trouble.starts],
                trouble.signs,
            ]
            for name, trouble in self.paths.items()
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Take what `dump` gave; raises ValueError, TypeError or AttributeError for anything else."""
        for name, ((since_ns, high_ns, live_ns, troubled), windows, signs) in saved.items():
            trouble = Trouble(since_ns, int(high_ns), live_ns=int(live_ns), troubled=bool(troubled))
            for start_ns, window_end_ns, bad, lost in windows[-MAX_WINDOWS:]:
                trouble.put(int(start_ns), Window(int(window_end_ns), bool(bad), int(lost)))
            trouble.signs += [Sign(*map(int, sign)) for sign in signs[-MAX_SIGNS:]]
            self.paths[name] = trouble
            self._bound(trouble, 0)

    def _trouble(self, path: str) -> Trouble:
        found = self.paths.get(path)
        if found is None:
            found = self.paths[path] = Trouble()
        return found

    def _bound(self, trouble: Trouble, before: int) -> None:
        """Keep within the bounds; `before` is what the path had."""
        self._kept += trouble.kept() - before
        while trouble.starts and (len(trouble.starts) > MAX_WINDOWS or self._kept > MAX_KEPT):
            trouble.forget_oldest()
            self._kept -= 1
        while len(trouble.signs) > MAX_SIGNS or (self._kept > MAX_KEPT and len(trouble.signs) > 1):
            del trouble.signs[self._needless(trouble)]
            self._kept -= 1

    def _needless(self, trouble: Trouble) -> int:
        """Return the place of the oldest sign that is not the first one of any event, else of the oldest."""
        firsts = {_first_sign(trouble, event.at_ns, None) for event in self._events.values()}
        last = len(trouble.signs) - 1
        return next((n for n, sign in enumerate(trouble.signs[:last]) if sign not in firsts), 0)


def end_ns(event: Event) -> int | None:
    """Return when it ended; None for an action that goes on. An event that is a moment ends as it begins."""
    if event.until_ns is None and event.do:
        return None
    return event.at_ns if event.until_ns is None else event.until_ns


def goes_on(event: Event, now_ns: int) -> bool:
    """Return whether it is an action without an end, and not so old that its end was never told."""
    return end_ns(event) is None and event.at_ns <= now_ns < event.at_ns + UNENDED_NS


def _first_sign(trouble: Trouble, from_ns: int, until_ns: int | None) -> Sign | None:
    """Return the first trouble that began in [from, until); what was there before is no sign of the event."""
    for sign in trouble.signs:
        if sign.at_ns >= from_ns:
            return sign if until_ns is None or sign.at_ns < until_ns else None
    return None
