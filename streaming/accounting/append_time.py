"""A path's append time: how long Kafka has been taking its records, less the time in which it took none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_PARTS: Final = 8  # a longer step than this part of `gone_after_ns` counts as no more than that


@dataclass(slots=True)
class AppendTime:
    """Goes on by the steps between the append times of records, but by small ones only.

    Ends write something each second. So an outage of Kafka counts as no time, and neither do the steps of a
    broker's clock, forwards or back.
    """

    gone_after_ns: int
    now_ns: int = 0
    newest_ns: int | None = None  # append time of the newest record
    resumed_ns: int | None = None  # `now_ns` at the end of the last standstill

    def go_on(self, append_ns: int) -> None:
        """Count the step to a record's append time; not to be called for repeats."""
        step_ns = 0 if self.newest_ns is None else append_ns - self.newest_ns
        self.newest_ns = append_ns
        if step_ns > 0:
            self.now_ns += min(step_ns, self.gone_after_ns // _PARTS)
            if step_ns >= self.gone_after_ns:
                self.resumed_ns = self.now_ns

    def resumed_within(self, duration_ns: int) -> bool:
        """Returns whether the last standstill ended less than that ago."""
        return self.resumed_ns is not None and self.now_ns - self.resumed_ns < duration_ns

    def dump(self) -> list[Any]:
        return [self.now_ns, self.newest_ns, self.resumed_ns]
