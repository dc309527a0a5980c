"""When a path's windows are final, and when final ones need a revision: the rows that this makes."""

from __future__ import annotations

from typing import Final

from collectors.config.paths import Rules
from collectors.contract import window_rows
from collectors.contract.window_rows import WindowRow
from streaming.accounting import bounds, row
from streaming.accounting.live import LiveFigures
from streaming.accounting.outage import OpenOutages
from streaming.accounting.path_ends import Coverage, PathEnds
from streaming.accounting.path_windows import PathWindows, remember_classes
from streaming.accounting.row import NewestInfo
from streaming.accounting.window import Window


class Finality:
    """Closes a path's windows in order, and revises them until the horizon is beyond them."""

    def __init__(
        self,
        rules: Rules,
        ends: PathEnds,
        windows: PathWindows,
        live: LiveFigures,
        newest: NewestInfo,
        counters: dict[str, int],
    ) -> None:
        self.not_before_ns = 0  # no rows of windows that begin earlier
        self.stepped_ns = 0  # the path's frontier when revisions were last made
        self.outages = OpenOutages({})
        self.p999_ns = 0  # response latency, of the newest final window
        self._counters: Final = counters
        self._newest: Final = newest
        self._rules: Final = rules
        self._ends: Final = ends
        self._windows: Final = windows
        self._live: Final = live

    def touch(self, from_ns: int, to_ns: int | None = None) -> None:
        """Mark final windows for revision: what is known of an end in [from, to) changed; None: all later."""
        windows, rules = self._windows, self._rules
        if windows.first_ns is None:
            return
        # A window reaches until its messages have settled: the first one that this concerns ...
        first = windows.start_of(from_ns - rules.settle_ns)
        last = windows.next_ns if to_ns is None else min(to_ns, windows.next_ns)
        windows.revise.update(range(max(first, windows.kept_ns), last, rules.window_ns))

    def advance(self) -> list[bytes]:
        """Returns the rows of windows that became final, in order, then revisions of earlier ones."""
        windows, rules = self._windows, self._rules
        frontier_ns = self._ends.frontier_ns()
        settled_ns = self._ends.settled_ns(frontier_ns)
        found: list[bytes] = []
        if frontier_ns is not None and self._ends.append_time.resumed_within(rules.settle_ns):
            return found  # ends that began during the standstill come to be known
        if windows.first_ns is None and not self._begin(settled_ns):
            return found
        final_ns = windows.next_ns
        while windows.next_ns < settled_ns and len(found) < bounds.ROWS:
            if not windows.holds(windows.next_ns) and self._leap(settled_ns):
                continue
            found.append(self._close(windows.close_next()))
        if windows.next_ns != final_ns:
            windows.forget_before(windows.next_ns - -(-rules.horizon_ns // rules.window_ns) * rules.window_ns)
            self._ends.forget(windows.kept_ns)
        if frontier_ns is None or frontier_ns > self.stepped_ns:
            self.stepped_ns = max(self.stepped_ns, frontier_ns or 0)
            self._revise(final_ns, found)
        return found

    def _begin(self, settled_ns: int) -> bool:
        """Set the first window, once it is final; returns whether it is."""
        windows = self._windows
        # Joined midway: what was before is not known, and may still be on its way.
        start = -(-self.not_before_ns // windows.length_ns) * windows.length_ns
        earliest_ns = self._ends.earliest_ns()
        if earliest_ns is not None:
            start = max(start, windows.start_of(earliest_ns))
        start = max(start, windows.start_of(max(settled_ns - self._rules.horizon_ns, 0)))
        if start >= settled_ns:
            return False
        for window in windows.begin(start):
            self._counters["before_start"] += window.samples.count
        return True

    def _leap(self, settled_ns: int) -> bool:
        """Pass over windows beyond the horizon in which no end was there: a long silence makes no rows."""
        windows = self._windows
        start = windows.next_ns
        recent = windows.start_of(settled_ns - self._rules.horizon_ns)
        if start >= recent or self._coverage(start).members:
            return False
        following = [window.start_ns for window in windows.open()]
        following += [end.start_ns - self._rules.settle_ns for end in self._ends.by_key.values()]
        target = min([recent, *(windows.start_of(each) for each in following if each > start)])
        windows.leap(max(target, start + windows.length_ns))
        return True

    def _close(self, window: Window) -> bytes:
        """Returns the row of a window that is final from now on."""
        window.revision = 0
        found, text = self._row(window, self._coverage(window.start_ns), self.outages)
        if found["response"] is not None:
            self.p999_ns = found["response"]["percentiles"].get("99.9", found["response"]["max_ns"])
        self._live.changed(window.start_ns)
        return text

    def _revise(self, final_ns: int, found: list[bytes]) -> None:
        """Add revisions of windows that were final before `final_ns`, where their rows have changed."""
        revise = self._windows.revise
        for start in sorted(revise):
            if len(found) >= bounds.ROWS:
                return  # the rest has to wait
            revise.discard(start)
            if start >= final_ns:
                continue  # its row is among the found ones
            window = self._windows.final(start)
            coverage = self._coverage(start)
            if coverage.blind_ns != window.blind_ns:
                remember_classes(window)
            before = window.digest
            revised, _ = self._row(window, coverage, None)
            if window.digest != before:
                window.revision += 1
                revised["revision"] = window.revision
                found.append(window_rows.encode(revised))

    def _coverage(self, start: int) -> Coverage:
        return self._ends.coverage(start, start + self._rules.window_ns + self._rules.settle_ns)

    def _row(
        self, window: Window, coverage: Coverage, outages: OpenOutages | None
    ) -> tuple[WindowRow, bytes]:
        """Returns the row as it is now with revision 0, and its bytes."""
        path = self._newest.info()
        assert path is not None  # noqa: S101 -- a window has had a record
        found = row.final_row(path, self._rules, window, coverage, outages)
        window.blind_ns = coverage.blind_ns
        text = window_rows.encode(found)
        window.digest = row.digest(text)
        self._windows.mark_changed(window.start_ns)
        return found, text
