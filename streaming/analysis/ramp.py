"""A load that rises step by step: where most was answered, and where it broke."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

PLATEAU: Final = 0.02  # of the highest rate: as near to it is as much
DROP: Final = 0.2  # of the highest rate until then: what breaks loses more
ANSWERED: Final = 0.9  # of what was asked for; what breaks answers less of it in time
MOST_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the ramp gave."""

    level: float  # of what is raised: clients, messages a second ...
    seconds: float
    asked: int  # requests that were begun
    in_time: int  # of these, answered within the bound

    @property
    def per_second(self) -> float:
        """How many were answered within the bound each second."""
        return self.in_time / self.seconds


@dataclass(frozen=True, slots=True)
class Ramp:
    """Where a ramp had its peak and where it broke; None: it did not."""

    peak_level: float
    peak_per_second: float
    plateau: tuple[float, float]  # the levels around the peak at which as much was answered, but for 2 %
    breaks_at: float | None
    back_at: float | None  # the first level after it that did not break: clients came back
    says: str

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


def read(steps: Sequence[Step]) -> Ramp:
    """Return peak and break of a ramp whose steps are in the order in which they were run.

    A step breaks where less than 90 % of what was asked is answered within the bound, or where the rate of
    answers is more than 20 % below the highest until then. Raises ValueError.
    """
    _check(steps)
    rates = [step.per_second for step in steps]
    highest = max(rates)
    peak = rates.index(highest)
    first = last = peak
    while first > 0 and rates[first - 1] >= (1 - PLATEAU) * highest:
        first -= 1
    while last + 1 < len(steps) and rates[last + 1] >= (1 - PLATEAU) * highest:
        last += 1
    broken = [_broken(step, max(rates[: place + 1])) for place, step in enumerate(steps)]
    at = broken.index(True) if True in broken else None
    back = broken.index(False, at) if at is not None and False in broken[at:] else None
    plateau = (steps[first].level, steps[last].level)
    return Ramp(
        peak_level=steps[peak].level,
        peak_per_second=highest,
        plateau=plateau,
        breaks_at=None if at is None else steps[at].level,
        back_at=None if back is None else steps[back].level,
        says=_said(steps, peak, plateau, at, back),
    )


def _broken(step: Step, highest: float) -> bool:
    return step.in_time < ANSWERED * step.asked or step.per_second < (1 - DROP) * highest


def _check(steps: Sequence[Step]) -> None:
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ValueError(f"a ramp of {len(steps)} steps: give 1 to {MOST_STEPS}")
    for place, step in enumerate(steps):
        if not 0 < step.seconds < math.inf:
            raise ValueError(f"step {place + 1} of the ramp took {step.seconds} s: leave it out")
        if not 0 <= step.in_time <= step.asked:
            raise ValueError(
                f"step {place + 1} of the ramp answered {step.in_time} of {step.asked}: count the same"
            )
        if not math.isfinite(step.level) or (place and step.level <= steps[place - 1].level):
            raise ValueError(f"step {place + 1} of the ramp is at {step.level}: a ramp rises with each step")


def _said(
    steps: Sequence[Step], peak: int, plateau: tuple[float, float], at: int | None, back: int | None
) -> str:
    highest = steps[peak]
    alike = f" (alike from {plateau[0]:,g} to {plateau[1]:,g})" if plateau[0] < plateau[1] else ""
    said = f"most, {highest.per_second:,.4g}/s, is answered in time at {highest.level:,g}{alike}"
    if at is None:
        end = ", where the ramp ends: the peak may lie beyond" if peak == len(steps) - 1 else ""
        return f"{said}{end}; it does not break until {steps[-1].level:,g}"
    step = steps[at]
    share = f"{step.in_time / step.asked:.0%} of what is asked" if step.asked else "nothing is asked"
    said += f"; it breaks at {step.level:,g}: {step.per_second:,.4g}/s in time, {share}"
    return said if back is None else f"{said}; at {steps[back].level:,g} it is back"
