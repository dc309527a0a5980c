"""A path's windows: the open ones, and the final ones until the horizon is beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streaming.accounting import bounds, classes, state_codec
from streaming.accounting.window import TooMuch, Window

Loader = Callable[[int], bytes | None]


class PathWindows:
    """Windows by their start. With a loader, final ones leave memory once their bytes were taken."""

    def __init__(self, path: str, length_ns: int) -> None:
        self.path = path
        self.length_ns = length_ns
        self.first_ns: int | None = None  # start of the first window with a row; None: there is none
        self.next_ns = 0  # start of the next window to become final
        self.kept_ns = 0  # start of the oldest final window that is kept
        self.revise: set[int] = set()  # starts of final ones that may need a revision
        self.loader: Loader | None = None
        self._in_memory: dict[int, Window] = {}
        self._changed: set[int] = set()
        self._forgotten: list[int] = []

    def start_of(self, time_ns: int) -> int:
        return time_ns - time_ns % self.length_ns

    def open(self) -> list[Window]:
        """Returns the windows that are not final, in no order."""
        if self.first_ns is None:
            return list(self._in_memory.values())
        return [window for start, window in self._in_memory.items() if start >= self.next_ns]

    def holds(self, start: int) -> bool:
        """Returns whether anything is known of that open window."""
        return start in self._in_memory

    def too_old(self, start: int) -> str | None:
        """Returns the counter for samples of that window if it cannot change any longer, else None."""
        if self.first_ns is None or start >= self.kept_ns:
            return None
        return "before_start" if start < self.first_ns else "beyond_horizon"

    def to_change(self, start: int) -> Window:
        """Returns a window whose data are about to change. Raises TooMuch where too many are open."""
        if self.first_ns is not None and start < self.next_ns:
            window = self.final(start)
            remember_classes(window)
            self.revise.add(start)
        elif start in self._in_memory:
            window = self._in_memory[start]
        elif len(self._in_memory) >= bounds.WINDOWS and len(self.open()) >= bounds.WINDOWS:
            raise TooMuch("windows", f"more than {bounds.WINDOWS} windows at a time")
        else:
            window = self._in_memory[start] = Window(start)
        self._changed.add(start)
        return window

    def final(self, start: int) -> Window:
        """Returns a final window that is still kept."""
        window = self._in_memory.get(start)
        if window is None:
            window = self._in_memory[start] = self._load(start)
        return window

    def close_next(self) -> Window:
        """Returns the next window, which is final from now on."""
        start = self.next_ns
        self.next_ns += self.length_ns
        self._changed.add(start)
        return self._in_memory.setdefault(start, Window(start))

    def begin(self, start: int) -> list[Window]:
        """Set the first window; returns the earlier ones, which are forgotten."""
        self.first_ns = self.next_ns = self.kept_ns = start
        before = [self._in_memory.pop(each) for each in list(self._in_memory) if each < start]
        self._forgotten += [window.start_ns for window in before]
        self._changed -= {window.start_ns for window in before}
        return before

    def leap(self, start: int) -> None:
        """Go on with a later window; nothing is known of those between."""
        self.forget_before(self.next_ns)
        self.next_ns = self.kept_ns = start

    def forget_before(self, kept_ns: int) -> None:
        while self.kept_ns < kept_ns:
            start = self.kept_ns
            self._forgotten.append(start)
            self._in_memory.pop(start, None)
            self._changed.discard(start)
            self.revise.discard(start)
            self.kept_ns += self.length_ns

    def mark_changed(self, start: int) -> None:
        self._changed.add(start)

    def take_changed(self) -> dict[int, bytes]:
        """Returns the windows that changed since the last call, as bytes by start."""
        found = {start: state_codec.dump_window(self._in_memory[start]) for start in sorted(self._changed)}
        self._changed.clear()
        if self.loader is not None and self.first_ns is not None:
            for start in [each for each in self._in_memory if each < self.next_ns]:
                del self._in_memory[start]
        return found

    def take_forgotten(self) -> list[int]:
        found, self._forgotten = self._forgotten, []
        return found

    def dump(self) -> list[Any]:
        starts = [window.start_ns for window in self.open()]
        return [self.first_ns, self.next_ns, self.kept_ns, sorted(self.revise), starts]

    def load(self, raw: list[Any], loader: Loader) -> None:
        self.loader = loader
        self.first_ns, self.next_ns, self.kept_ns, revise, starts = raw
        self.revise = set(revise)
        self._in_memory = {start: self._load(start) for start in starts}

    def forget_kept(self, raw: list[Any], length_ns: int) -> None:
        """Forget all windows that dumped state speaks of, made by other rules with windows of that length."""
        _, next_ns, kept_ns, _, starts = raw
        self._forgotten = [*range(kept_ns, next_ns, length_ns), *starts]

    def _load(self, start: int) -> Window:
        data = self.loader(start) if self.loader else None
        if data is None:
            raise state_codec.BadState(
                f"path {self.path}: its kept window {start} is missing: begin a new checkpoint"
            )
        return state_codec.load_window(data)


def remember_classes(window: Window) -> None:
    """Keep the classes as of revision 0, which moves are counted against; before a final window changes."""
    if window.origin is None:
        window.origin = classes.segments(window, window.blind_ns)
