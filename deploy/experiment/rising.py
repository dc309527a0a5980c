"""What a setting that rises step by step shows: where most is answered, and where it breaks. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from deploy.experiment.form import quantity
from streaming.analysis import ramp

_LEAST: Final = 2  # steps
_UNITS: Final = ({""}, {"/s"})  # a number of something, or a rate: what a load can break at


def read(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return peak and break of a run's steps; None where they are none, or no numbers that rise."""
    try:
        levels = [quantity(step["value"]) for step in steps]
    except ValueError:
        return None
    numbers = [float(number) for number, _ in levels]
    rises = all(before < after for before, after in itertools.pairwise(numbers))
    if len(steps) < _LEAST or not rises or {unit for _, unit in levels} not in _UNITS:
        return None
    return ramp.read([_step(*pair) for pair in zip(numbers, steps, strict=True)]).as_json()


def _step(level: float, step: Mapping[str, Any]) -> ramp.Step:
    of = step["figures"]["all"]
    seconds = of["windows"] * (of["series"]["window_seconds"] or 1)
    return ramp.Step(level, max(seconds, 1), of["sent"], min(step["in_time"], of["sent"]))
