"""The verdict of each figure, and what would decide those that are open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from streaming.analysis import permutation
from streaming.analysis.equivalence import (
    MOST_REPETITIONS,
    Margins,
    is_not_worse,
    repetitions_needed,
    word_of,
)
from streaming.analysis.figures import FIGURES, Figure, Run
from streaming.analysis.intervals import messages_needed
from streaming.analysis.measured import Measured, centre, measure
from streaming.analysis.verdicts import FigureVerdict

LEAST_REPETITIONS: Final = 6  # a side
LEAST_WINDOWS: Final = 30  # steady ones, in each repetition
Sides = tuple[Sequence[Run], Sequence[Run]]


def too_little(sides: Sides) -> str:
    """Return what is missing to compare at all, or nothing."""
    missing = []
    for side, runs in zip("AB", sides, strict=True):
        if len(runs) < LEAST_REPETITIONS:
            missing.append(f"{side} has {len(runs)} repetitions of at least {LEAST_REPETITIONS}")
        if short := [run.windows for run in runs if run.windows < LEAST_WINDOWS]:
            missing.append(
                f"{len(short)} of the {len(runs)} runs of {side} are too short"
                f" ({min(short)} steady windows of at least {LEAST_WINDOWS})"
            )
    return " and ".join(missing)


def judge(
    sides: Sides, margins: Margins, seed: int, figures: Sequence[Figure] = FIGURES
) -> list[FigureVerdict]:
    """Return the verdict of each figure; one that a run lacks counts in Holm's correction as well."""
    measured = {} if too_little(sides) else measure(*sides, margins, seed, figures)
    corrected = permutation.holm([measured[f.name].p_value if f.name in measured else 1.0 for f in figures])
    return [
        _judged(measured[figure.name], sides, p_holm) if figure.name in measured else _unjudged(figure, sides)
        for figure, p_holm in zip(figures, corrected, strict=True)
    ]


def _judged(found: Measured, sides: Sides, p_holm: float) -> FigureVerdict:
    figure, back = found.figure, math.expm1 if found.figure.ratio else float
    word = word_of(figure, found.difference, found.interval, found.margin, p_holm)
    repetitions, decided_by = None, ""
    if figure.name == "rate" and word == "same" and any(run.at_ceiling for side in sides for run in side):
        word, decided_by = (
            "unclear",
            "a load below its generator's ceiling, as the rate was that of the generator",
        )
    elif word == "unclear":
        decided_by = _other_than_repetitions(found, sides)
        if not decided_by:
            least = min(map(len, sides))
            repetitions = repetitions_needed(
                found.difference, found.interval, found.margin, least, len(FIGURES)
            )
            if repetitions is None:
                decided_by = (
                    f"longer or steadier runs, as over {MOST_REPETITIONS} repetitions a side were needed"
                )
    return FigureVerdict(
        name=figure.name,
        unit=figure.unit,
        a=_told(figure, centre(sides[0], figure)),
        b=_told(figure, centre(sides[1], figure)),
        difference=back(found.difference),
        low=back(found.interval[0]),
        high=back(found.interval[1]),
        margin=back(found.margin),
        p_value=found.p_value,
        p_holm=p_holm,
        word=word,
        not_worse=is_not_worse(figure, found.interval, found.margin),
        repetitions=repetitions,
        decided_by=decided_by,
    )


def _unjudged(figure: Figure, sides: Sides) -> FigureVerdict:
    """Return what can be told of a figure without an interval: both sides, where all runs have it."""
    a, b = (centre(side, figure) for side in sides)
    known = a is not None and b is not None
    return FigureVerdict(
        name=figure.name,
        unit=figure.unit,
        a=_told(figure, a),
        b=_told(figure, b),
        difference=(math.expm1(b - a) if figure.ratio else b - a)
        if a is not None and b is not None
        else None,
        low=None,
        high=None,
        margin=None,
        p_value=None,
        p_holm=None,
        word="unclear",
        not_worse=False,
        repetitions=None,
        decided_by="" if known else "runs that all receive messages",
    )


def _told(figure: Figure, value: float | None) -> float | None:
    return math.exp(value) if value is not None and figure.ratio else value


def _other_than_repetitions(found: Measured, sides: Sides) -> str:
    """Return what a loss that is unclear lacks other than repetitions, or nothing."""
    if found.figure.name != "loss":
        return ""
    for side, runs in zip("AB", sides, strict=True):
        unobserved = sum(run.unobserved for run in runs)
        if unobserved > found.margin * sum(run.judged + run.unobserved for run in runs):
            return f"runs whose messages are all watched, as {unobserved:,} of {side} were unobserved"
    if any(run.lost for side in sides for run in side):
        return ""
    least = min(sum(run.judged for run in side) for side in sides)
    return f"{messages_needed(found.margin):,} messages a side without a loss, of {least:,} so far"
