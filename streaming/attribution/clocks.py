"""Whose clocks are how far apart, by how long what they stamped took to come in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

APART_NS: Final = 1_000_000_000  # hosts whose clocks are further apart are not compared exactly
# Ends publish once a second what they measured; a poll is published when it is over.
LATER_NS: Final = 1_000_000_000
# What is stamped so much later than it comes is refused: taken in, it would hide all that comes until then.
AHEAD_NS: Final = 600_000_000_000
_MINUTE_NS: Final = 60_000_000_000
_MOST: Final = 64  # minutes


@dataclass(slots=True)
class Lateness:
    """By minute of the stamps, the least time from a stamp until what bears it came in."""

    leasts: dict[int, int] = field(default_factory=dict)

    def take(self, stamp_ns: int, came_ns: int) -> None:
        minute = stamp_ns // _MINUTE_NS
        late_ns = came_ns - stamp_ns
        self.leasts[minute] = min(late_ns, self.leasts.get(minute, late_ns))
        if len(self.leasts) > _MOST:
            del self.leasts[min(self.leasts)]

    def least_ns(self, from_ns: int, to_ns: int) -> int | None:
        """Return the least of this time; None where nothing came."""
        minutes = range(from_ns // _MINUTE_NS, to_ns // _MINUTE_NS + 1)
        return min((self.leasts[minute] for minute in minutes if minute in self.leasts), default=None)


def apart(probes: Lateness, collector: Lateness, from_ns: int, to_ns: int) -> bool:
    """Return whether a path's probes and a collector have clocks that cannot be compared exactly."""
    one, other = probes.least_ns(from_ns, to_ns), collector.least_ns(from_ns, to_ns)
    return one is not None and other is not None and not -APART_NS <= one - other <= APART_NS + LATER_NS


def check_stamp(stamp_ns: int, now_ns: int) -> None:
    """Raise ValueError for what was stamped long after it came; `now_ns` 0: nobody knows."""
    if now_ns and stamp_ns > now_ns + AHEAD_NS:
        raise ValueError(
            f"it is stamped {(stamp_ns - now_ns) / 1e9:,.0f} s later than it came: a wrong clock"
        )
