"""A run's one clock, and what the ends of a path find out about each other's."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collectors.contract.records import Clock

STEP_NS: Final = 500_000_000  # a wall clock that is off by more ends the run
DRIFT_PPM: Final = 50  # how fast two clocks may part while they are not compared
MEMORY_NS: Final = 60_000_000_000
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_hash() -> int:
    """64 bits that name this boot of this machine: the same in all its processes. 0 where it has no name."""
    try:
        text = _BOOT_ID.read_bytes().strip()
    except OSError:
        return 0
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class RunClock:
    """Wall time read once, plus the monotonic clock: no step of the wall can repeat or skip time."""

    epoch_ns: int  # wall less monotonic, when the run began
    suspended_ns: int  # time asleep since boot, when the run began
    boot: int

    @classmethod
    def start(cls) -> RunClock:
        return cls(time.time_ns() - time.monotonic_ns(), _suspended_ns(), boot_hash())

    def now_ns(self) -> int:
        return self.epoch_ns + time.monotonic_ns()

    def step_ns(self) -> int:
        """How far the wall clock, or time spent suspended, has gone from this clock since the run began."""
        wall = time.time_ns() - self.now_ns()
        asleep = _suspended_ns() - self.suspended_ns
        return max(wall, asleep, key=abs)


def _suspended_ns() -> int:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()


class Comparison:
    """A receiver's clock against one sender's, from echoes: the one with the least doubt, of a minute."""

    def __init__(self) -> None:
        self._exact: Clock | None = None
        self._echoes: deque[tuple[int, int, int]] = deque(maxlen=256)  # when, offset, half round trip

    def same_boot(self, receiver_epoch_ns: int, sender_epoch_ns: int) -> None:
        """Both use the one monotonic clock of a boot: the offset is known exactly."""
        self._exact = Clock(receiver_epoch_ns - sender_epoch_ns, 0)

    def echo(self, asked_ns: int, heard_ns: int, answered_ns: int, received_ns: int) -> None:
        """One exchange: asked and received by the receiver's clock, heard and answered by the sender's."""
        round_trip = (received_ns - asked_ns) - (answered_ns - heard_ns)
        if round_trip < 0:
            return  # no such thing can happen: a forged or mixed-up answer
        offset = ((asked_ns - heard_ns) + (received_ns - answered_ns)) // 2
        self._echoes.append((received_ns, offset, (round_trip + 1) // 2))

    def best(self, now_ns: int) -> Clock | None:
        """Offset and bound as of now; None where nothing is known."""
        if self._exact is not None:
            return self._exact
        while self._echoes and now_ns - self._echoes[0][0] > MEMORY_NS:
            self._echoes.popleft()
        if not self._echoes:
            return None
        bounds = (
            (half + (now_ns - at) * DRIFT_PPM // 1_000_000, offset) for at, offset, half in self._echoes
        )
        bound, offset = min(bounds)
        return Clock(offset, bound)
