"""The clock of a process's runs, and how it is compared with those of other processes."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collectors.contract.records import Clock
from collectors.process import wall_clock

STEP_NS: Final = 500_000_000  # a wall clock that is off by more ends all runs
DRIFT_PPM: Final = 50  # how fast two clocks may drift apart between exchanges
MEMORY_NS: Final = 60_000_000_000
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_hash() -> int:
    """Returns 64 bits that are the same in all processes of this boot; 0 where the system does not tell.

    Processes whose clock a file sets wrong have others, the same for those of one file.
    """
    try:
        text = _BOOT_ID.read_bytes().strip() + os.fsencode(wall_clock.machine)
    except OSError:
        return 0
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class RunClock:
    """Wall time read once, plus the monotonic clock: no step of the wall clock repeats or skips time."""

    epoch_ns: int  # wall less monotonic, when the run began
    suspended_ns: int  # time asleep since boot, when the run began
    boot: int

    @classmethod
    def start(cls) -> RunClock:
        return cls(wall_clock.now_ns() - time.monotonic_ns(), _suspended_ns(), boot_hash())

    def now_ns(self) -> int:
        return self.epoch_ns + time.monotonic_ns()

    def step_ns(self) -> int:
        """Returns how far the wall clock has gone from this clock, or how long the machine was suspended."""
        wall = wall_clock.now_ns() - self.now_ns()
        asleep = _suspended_ns() - self.suspended_ns
        return max(wall, asleep, key=abs)


def _suspended_ns() -> int:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()


class ClockComparison:
    """Compares a receiver's clock with one sender's: by the best exchange of the last minute."""

    def __init__(self) -> None:
        self._exact: Clock | None = None
        self._echoes: deque[tuple[int, int, int]] = deque(maxlen=256)  # when, offset, half round trip

    def same_boot(self, receiver_epoch_ns: int, sender_epoch_ns: int) -> None:
        """Both ends use the monotonic clock of one boot: the offset is known exactly."""
        self._exact = Clock(receiver_epoch_ns - sender_epoch_ns, 0)

    def echo(self, asked_ns: int, heard_ns: int, answered_ns: int, received_ns: int) -> None:
        """Adds an exchange: asked, received by the receiver's clock; heard, answered by the sender's."""
        round_trip = (received_ns - asked_ns) - (answered_ns - heard_ns)
        if round_trip < 0:
            return  # impossible: a forged or mixed-up answer
        offset = ((asked_ns - heard_ns) + (received_ns - answered_ns)) // 2
        self._echoes.append((received_ns, offset, (round_trip + 1) // 2))

    def best(self, now_ns: int) -> Clock | None:
        """Returns offset and bound as of now; None where nothing is known."""
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
