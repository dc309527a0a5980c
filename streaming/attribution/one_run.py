"""Of two collectors that tell of the same thing, only one is listened to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectors.contract.telemetry import Telemetry

STALE_INTERVALS: Final = 3


@dataclass(slots=True)
class OneRun:
    """The run of a collector that is listened to, until it has been silent for some intervals."""

    run: str = ""
    told_ns: int = 0
    interval_ns: int = 0

    def listens(self, record: Telemetry) -> bool:
        """Return whether the record is to be taken in."""
        at_ns = max(record.asked_ns, record.answered_ns)
        silent_ns = at_ns - self.told_ns
        if self.run and record.run != self.run and silent_ns < STALE_INTERVALS * max(1, self.interval_ns):
            return False
        self.run, self.interval_ns = record.run, record.interval_ns
        self.told_ns = max(self.told_ns, at_ns)
        return True
