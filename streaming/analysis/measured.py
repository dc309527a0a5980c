"""How far two sides are apart: for each figure the difference, its interval, its margin, its p value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streaming.analysis import intervals, permutation
from streaming.analysis.equivalence import Margins
from streaming.analysis.figures import FIGURES, Figure, Name, Numbers, Run
from streaming.analysis.order import are_pairs, test_for

_BETWEEN: Final = 2  # beside 0 and 1, the sides: whose draws these are


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure, on the scale on which it is compared: logarithms of ratios, or plain differences."""

    figure: Figure
    difference: float  # B less A
    interval: tuple[float, float]
    margin: float
    p_value: float


def measure(
    a: Sequence[Run], b: Sequence[Run], margins: Margins, seed: int, figures: Sequence[Figure] = FIGURES
) -> dict[Name, Measured]:
    """Return each figure that all runs have. Which of the sides is called A changes signs, and no more."""
    turned = [run.identity for run in b] < [run.identity for run in a]
    sides = (b, a) if turned else (a, b)
    within = [intervals.within_runs(side, seed, place) for place, side in enumerate(sides)]
    found = {}
    for figure in figures:
        values = [_values(side, figure) for side in sides]
        if values[0] is None or values[1] is None:
            continue
        draws = within[0][figure.name], within[1][figure.name]
        one = _measured(figure, sides, (values[0], values[1]), draws, margins, seed)
        found[figure.name] = _turned(one) if turned else one
    return found


def centre(runs: Sequence[Run], figure: Figure) -> float | None:
    """Return the mean of a side on the scale on which a figure is compared, or None where a run lacks it."""
    values = _values(runs, figure)
    return None if values is None else float(values.mean())


def _values(runs: Sequence[Run], figure: Figure) -> Numbers | None:
    values = [run.compared(figure) for run in runs]
    return None if not values or None in values else np.array(values, np.float64)


def _measured(
    figure: Figure,
    sides: tuple[Sequence[Run], Sequence[Run]],
    values: tuple[Numbers, Numbers],
    within: tuple[Numbers, Numbers],
    margins: Margins,
    seed: int,
) -> Measured:
    a, b = values
    rng = np.random.default_rng((seed, _BETWEEN))
    difference = float(b.mean() - a.mean())
    if are_pairs(*sides):
        draws = intervals.mean_draws(b - a, within[1] - within[0], rng)
        freedom: float = len(a) - 1
    else:
        draws = intervals.mean_draws(b, within[1], rng) - intervals.mean_draws(a, within[0], rng)
        freedom = intervals.freedom_of(a, b)
    low, high = intervals.of_draws(draws, freedom)
    interval = difference + low, difference + high
    if figure.name == "loss":
        interval = interval[0] - _unseen(sides[0]), interval[1] + _unseen(sides[1])
    p_value = (
        permutation.p_of_pairs(b - a, seed)
        if test_for(*sides) == "pairs"
        else permutation.p_of_sides(a, b, seed)
    )
    return Measured(
        figure, difference, interval, margins.on_scale(figure, float(a.mean()), float(b.mean())), p_value
    )


def _unseen(runs: Sequence[Run]) -> float:
    """Return what loss there may be that no run shows: nobody watched, or none in so few messages."""
    judged, unobserved = sum(run.judged for run in runs), sum(run.unobserved for run in runs)
    none = 0.0 if any(run.lost for run in runs) else intervals.most_lost(0, judged)
    return none + unobserved / (judged + unobserved)


def _turned(one: Measured) -> Measured:
    low, high = one.interval
    return Measured(one.figure, -one.difference, (-high, -low), one.margin, one.p_value)
