"""When messages are due, whatever the network does (an open loop)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Final, Literal

from collectors.config.units import Step

_NEVER: Final = 1 << 62


class Schedule:
    """The times, in ns since its start, at which a profile of rates wants messages sent.

    The number of messages wanted by a time is the integral of the rate. Constant arrivals are where it
    passes whole numbers; Poisson arrivals are where it passes the points of a Poisson process of rate one.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        arrivals: Literal["constant", "poisson"] = "constant",
        *,
        share: int = 1,
        position: int = 0,
        count: int | None = None,
        duration_ns: int | None = None,
        random_source: random.Random | None = None,
    ) -> None:
        """With a `share` above one, this is one of so many senders that share the rate."""
        self._steps = [Step(s.start / share, s.end / share, s.duration_ns) for s in steps]
        self._poisson = arrivals == "poisson"
        self._random = random_source or random.Random()  # noqa: S311 -- no secret
        self._left = count if count is None else count // share + (1 if position < count % share else 0)
        self._end_ns = _NEVER if duration_ns is None else duration_ns
        self._step_start_ns = 0.0
        self._step_start_count = 0.0
        self._wanted = 0.0 if not self._poisson else self._random.expovariate(1.0)
        if not self._poisson and share > 1:
            self._wanted = position / share  # the senders take turns
        self.unpaced: Final = self._steps[0].start == 0
        self.next_ns = 0 if self.unpaced else self._next()
        self._limit()

    @property
    def done(self) -> bool:
        return self.next_ns >= _NEVER

    def due(self, until_ns: int, most: int) -> list[int]:
        """Returns the next times up to `until_ns`, at most `most` of them."""
        times: list[int] = []
        while self.next_ns <= until_ns and len(times) < most:
            times.append(self.next_ns)
            if self._left is not None:
                self._left -= 1
            self._wanted += self._random.expovariate(1.0) if self._poisson else 1.0
            self.next_ns = self._next()
            self._limit()
        return times

    def take(self, now_ns: int, most: int) -> int:
        """Returns how many messages of an unpaced schedule may be sent now, at most `most`."""
        if now_ns >= self._end_ns or self._left == 0:
            self.next_ns = _NEVER
            return 0
        if self._left is None:
            return most
        taken = min(most, self._left)
        self._left -= taken
        return taken

    def give_back(self, count: int) -> None:
        """So many messages that were taken are not sent."""
        if self._left is not None:
            self._left += count

    def _limit(self) -> None:
        if self.next_ns >= self._end_ns or self._left == 0:
            self.next_ns = _NEVER

    def _next(self) -> int:
        while True:
            step = self._steps[0]
            wanted = self._wanted - self._step_start_count
            seconds = _reached(step, wanted)
            if step.duration_ns is None or seconds * 1e9 < step.duration_ns:
                return round(self._step_start_ns + seconds * 1e9)
            if len(self._steps) == 1:
                return _NEVER
            self._step_start_ns += step.duration_ns
            self._step_start_count += (step.start + step.end) / 2 * step.duration_ns / 1e9
            self._steps.pop(0)


def _reached(step: Step, wanted: float) -> float:
    """Returns after how many seconds of a step `wanted` messages are due."""
    if step.duration_ns is None or step.start == step.end:
        return wanted / step.start
    slope = (step.end - step.start) / (step.duration_ns / 1e9)
    inside = step.start * step.start + 2 * slope * wanted
    return math.inf if inside < 0 else 2 * wanted / (step.start + math.sqrt(inside))
