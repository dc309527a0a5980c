"""How long Kafka has been taking a path's records: its append time, without what it took none in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_PARTS: Final = 8  # of the time that an end may be silent: so much counts of a longer step


@dataclass(slots=True)
class Passed:
    """Goes on with the append times of records, by small steps only: ends write something each second.

    An outage of Kafka counts as no time, and nor do the steps of a broker's clock, forwards or back.
    """

    gone_after_ns: int
    now_ns: int = 0
    appended_ns: int | None = None  # the last record
    resumed_ns: int | None = None  # `now_ns` at the end of the last standstill

    def record(self, append_ns: int) -> None:
        """One that is no repeat was appended then."""
        step_ns = 0 if self.appended_ns is None else append_ns - self.appended_ns
        self.appended_ns = append_ns
        if step_ns > 0:
            self.now_ns += min(step_ns, self.gone_after_ns // _PARTS)
            if step_ns >= self.gone_after_ns:
                self.resumed_ns = self.now_ns

    def is_resuming(self, for_ns: int) -> bool:
        """Whether the last standstill has been over for less than that."""
        return self.resumed_ns is not None and self.now_ns - self.resumed_ns < for_ns

    def dump(self) -> list[Any]:
        return [self.now_ns, self.appended_ns, self.resumed_ns]
