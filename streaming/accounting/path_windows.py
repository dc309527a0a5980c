"""A path's windows: the open ones, and the final ones until the horizon is beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streaming.accounting import bounds, classes, state_codec
from streaming.accounting.window import TooMuch, Window

Loader = Callable[[int], bytes | None]


class Windows:
    """By start. Final ones leave memory once they were dumped, where a loader brings them back."""

    def __init__(self, path: str, length_ns: int) -> None:
        self.path = path
        self.length_ns = length_ns
        self.first_ns: int | None = None  # the first window there is a row of; None: none yet
        self.next_ns = 0  # the next window to become final
        self.kept_ns = 0  # the oldest final window still kept
        self.revise: set[int] = set()  # final ones that may need a revision
        self.loader: Loader | None = None
        self._at_hand: dict[int, Window] = {}
        self._changed: set[int] = set()
        self._forgotten: list[int] = []

    def start_of(self, time_ns: int) -> int:
        return time_ns - time_ns % self.length_ns

    def open(self) -> list[Window]:
        """Those that are not final, in no order."""
        if self.first_ns is None:
            return list(self._at_hand.values())
        return [window for start, window in self._at_hand.items() if start >= self.next_ns]

    def holds(self, start: int) -> bool:
        """Whether anything is known of an open window."""
        return start in self._at_hand

    def too_old(self, start: int) -> str | None:
        """What samples of a window that cannot change any longer are counted as."""
        if self.first_ns is None or start >= self.kept_ns:
            return None
        return "before_start" if start < self.first_ns else "beyond_horizon"

    def to_change(self, start: int) -> Window:
        """A window whose data are about to change."""
        if self.first_ns is not None and start < self.next_ns:
            window = self.final(start)
            remember_classes(window)
            self.revise.add(start)
        elif start in self._at_hand:
            window = self._at_hand[start]
        elif len(self._at_hand) >= bounds.WINDOWS and len(self.open()) >= bounds.WINDOWS:
            raise TooMuch("windows", f"more than {bounds.WINDOWS} windows at a time")
        else:
            window = self._at_hand[start] = Window(start)
        self._changed.add(start)
        return window

    def final(self, start: int) -> Window:
        """A final window that is still kept."""
        window = self._at_hand.get(start)
        if window is None:
            window = self._at_hand[start] = self._load(start)
        return window

    def close_next(self) -> Window:
        """The next window, final from now on."""
        start = self.next_ns
        self.next_ns += self.length_ns
        self._changed.add(start)
        return self._at_hand.setdefault(start, Window(start))

    def begin(self, start: int) -> list[Window]:
        """Set the first window; what is known of earlier ones is given back and forgotten."""
        self.first_ns = self.next_ns = self.kept_ns = start
        before = [self._at_hand.pop(each) for each in list(self._at_hand) if each < start]
        self._forgotten += [window.start_ns for window in before]
        self._changed -= {window.start_ns for window in before}
        return before

    def leap(self, start: int) -> None:
        """Pass over windows that nothing is known of."""
        self.forget_before(self.next_ns)
        self.next_ns = self.kept_ns = start

    def forget_before(self, kept_ns: int) -> None:
        while self.kept_ns < kept_ns:
            start = self.kept_ns
            self._forgotten.append(start)
            self._at_hand.pop(start, None)
            self._changed.discard(start)
            self.revise.discard(start)
            self.kept_ns += self.length_ns

    def mark_changed(self, start: int) -> None:
        self._changed.add(start)

    def take_changed(self) -> dict[int, bytes]:
        """What changed since this was last asked, as bytes."""
        found = {start: state_codec.dump_window(self._at_hand[start]) for start in sorted(self._changed)}
        self._changed.clear()
        if self.loader is not None and self.first_ns is not None:
            for start in [each for each in self._at_hand if each < self.next_ns]:
                del self._at_hand[start]
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
        self._at_hand = {start: self._load(start) for start in starts}

    def forget_kept(self, raw: list[Any], length_ns: int) -> None:
        """All windows of state that is not gone on with."""
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
    """Before a final window may change for the first time: what moves are told against."""
    if window.origin is None:
        window.origin = classes.segments(window, window.blind_ns)
