"""The time of an episode, as it is asked of counters, and what else they may have counted in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streaming.attribution.causes import Missing
from streaming.attribution.path_windows import PathWindows, Window
from streaming.attribution.series import Rise

BOUND_NS: Final = 1_000_000_000  # clocks of probes and collectors differ by no more, or nothing is exact


@dataclass(slots=True)
class Span:
    """From the first send of the first window to the last of the last, and what of it is known."""

    path: PathWindows
    starts: list[int]  # of the episode's windows
    settle_ns: int
    sure: bool  # its windows' sums are sound, and the address is this path's alone
    apart: bool = False  # clocks of probes and collectors are: nothing is proven

    @property
    def sent_from_ns(self) -> int:
        return self.starts[0]

    @property
    def sent_to_ns(self) -> int:
        return self.starts[-1] + self.path.window_ns

    @property
    def from_ns(self) -> int:
        return self.sent_from_ns - BOUND_NS

    @property
    def to_ns(self) -> int:
        return self.sent_to_ns + self.settle_ns + BOUND_NS

    def lower(self, rise: Rise, within: Rise, of: Missing) -> int:
        """Return what a counter of this path alone proves: no less of the episode's was lost there.

        `within` is its rise until the last send: what was counted by then was sent before. What was counted
        later may be of later windows, so these have to be known.
        """
        if not self.sure or self.apart:
            return 0
        found = 0
        if (other := self._other(self.sent_from_ns - self.settle_ns, self.sent_to_ns, of)) is not None:
            found = within.inner - other
        if rise.outer is not None:
            other = self._other(rise.opened_ns - self.settle_ns, rise.closed_ns + BOUND_NS, of)
            if other is not None:
                found = max(found, rise.outer - other)
        return max(0, found)

    def _other(self, from_ns: int, to_ns: int, of: Missing) -> int | None:
        """Return how many messages of that time a counter may have counted that are not missing here."""
        windows = self.path.between(from_ns, to_ns)
        if windows is None or any(window.unsure for window in windows):
            return None
        ours = {id(self.path.windows[start]) for start in self.starts if start in self.path.windows}
        return sum(_beside(window, of, ours=id(window) in ours) for window in windows)


def _beside(window: Window, of: Missing, *, ours: bool) -> int:
    missing = window.lost if of == "lost" else window.refused
    return window.unobserved + window.beside + (0 if ours else sum(missing.values()))
