"""When bytes that go one way over a link go on, and how many may be on their way. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

READ_BYTES: Final = 262_144
_HELD_BYTES: Final = 4_194_304  # of a connection, each way
_LEAST_HELD_BYTES: Final = 65_536
_SECOND_NS: Final = 1_000_000_000
_PIECE_NS: Final = 10_000_000  # a limited link takes pieces of so long from its connections, in turn
_LATE_NS: Final = 20_000_000  # timers come late: so much unused time is made up for


@dataclass(frozen=True, slots=True)
class Pace:
    delay_ns: int = 0
    jitter_ns: int = 0
    bytes_per_second: float | None = None
    stalled: bool = False

    @property
    def at_once(self) -> bool:
        return not self.delay_ns and not self.jitter_ns and self.bytes_per_second is None

    @property
    def piece_bytes(self) -> int:
        """How many bytes are read at a time."""
        if self.bytes_per_second is None:
            return READ_BYTES
        return max(1, min(READ_BYTES, int(self.bytes_per_second * _PIECE_NS / _SECOND_NS)))

    @property
    def held_bytes(self) -> int:
        """How many bytes of a connection may be on their way before no more are read.

        That is what it takes to fill the link, within bounds; without delay, no more than the last ones read.
        """
        longest_ns = self.delay_ns + self.jitter_ns
        if not longest_ns:
            return 1
        if self.bytes_per_second is None:
            return _HELD_BYTES
        filled = 2 * self.bytes_per_second * longest_ns / _SECOND_NS
        return int(min(_HELD_BYTES, max(_LEAST_HELD_BYTES, filled)))


class Timetable:
    """One direction of a link, on which the bytes of all its connections follow each other."""

    def __init__(self, rng: random.Random) -> None:
        self.pace = Pace()
        self.free_ns = 0  # when a limited link has passed what it took
        self._rng = rng

    def due_ns(self, size_bytes: int, now_ns: int) -> int:
        """Returns when bytes that come now go on."""
        pace, at = self.pace, now_ns
        if pace.bytes_per_second is not None:
            self.free_ns = max(self.free_ns, now_ns - _LATE_NS)
            self.free_ns += int(size_bytes * _SECOND_NS / pace.bytes_per_second)
            at = max(now_ns, self.free_ns)
        if pace.jitter_ns:
            return at + max(0, pace.delay_ns + self._rng.randint(-pace.jitter_ns, pace.jitter_ns))
        return at + pace.delay_ns

    def latest_ns(self, now_ns: int) -> int:
        """Returns when what is on its way by now is through at the latest, by the present pace."""
        return max(now_ns, self.free_ns) + self.pace.delay_ns + self.pace.jitter_ns
