"""Designs of factors with two levels each: their sign table, their coding, and whether one is whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_FACTORS: Final = 10  # 1,023 effects; nobody runs more
_NAMED: Final = 3  # of what is missing, in a message
_LEVELS: Final = (-1, 1)


class DesignError(ValueError):
    """These runs are no whole design; the message says what is wrong and what to do."""


class SignTable(NamedTuple):
    """The columns of all effects for some runs: +1 or -1 each, a product of the levels of its factors."""

    terms: tuple[tuple[str, ...], ...]  # single factors first, then pairs, then threes ...
    signs: NDArray[np.int8]  # a row for each run, a column for each term


def sign_table(factors: Sequence[str], runs: Sequence[Mapping[str, int]] | None = None) -> SignTable:
    """Return the table for these runs, or for each combination once with the first factor slowest."""
    if runs is None:
        runs = [dict(zip(factors, levels, strict=True)) for levels in product(_LEVELS, repeat=len(factors))]
    places = range(len(factors))
    chosen = [term for size in range(1, len(factors) + 1) for term in combinations(places, size)]
    levels = np.array([[run[factor] for factor in factors] for run in runs], dtype=np.int8)
    signs = np.stack([levels[:, term].prod(axis=1, dtype=np.int8) for term in chosen], axis=1)
    return SignTable(tuple(tuple(factors[place] for place in term) for term in chosen), signs)


def coded(
    runs: Sequence[Mapping[str, object]], factors: Mapping[str, Sequence[object]]
) -> list[dict[str, int]]:
    """Return the levels of runs as -1 for a factor's first level and 1 for its second.

    Raises DesignError for a factor that has not two levels, and for a run at a level that it has not.
    """
    for factor, levels in factors.items():
        if len(levels) != len(_LEVELS) or levels[0] == levels[1]:
            raise DesignError(
                f"factor {factor} has the levels {list(levels)}: a design needs two; give it two"
            )
    return [
        {factor: _code(run, factor, factors[factor], place) for factor in factors}
        for place, run in _counted(runs)
    ]


def _code(run: Mapping[str, object], factor: str, levels: Sequence[object], place: int) -> int:
    for level, code in zip(levels, _LEVELS, strict=True):
        if factor in run and run[factor] == level:
            return code
    raise DesignError(
        f"run {place} is at {factor} = {run.get(factor, 'nothing')}, which has the levels {levels[0]} and"
        f" {levels[1]}: take the levels of the plan that it was run with"
    )


def factors_of(
    runs: Sequence[Mapping[str, int]], values: Sequence[float], repetitions: Sequence[int]
) -> tuple[str, ...]:
    """Return the factors of a design in which each repetition has each combination exactly once.

    Raises DesignError where it has not, or where a value is no number.
    """
    if not runs or not len(runs) == len(values) == len(repetitions):
        raise DesignError(
            f"{len(runs)} runs, {len(values)} values, {len(repetitions)} repetitions: give a run one of each"
        )
    factors = tuple(runs[0])
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise DesignError(f"a design has 1 to {MOST_FACTORS} factors, this one {len(factors)}: split it")
    for place, run in _counted(runs):
        if set(run) != set(factors):
            raise DesignError(
                f"run {place} has the factors {_listed(run)}, run 1 {_listed(factors)}: give all the same"
            )
        for factor in factors:
            if run[factor] not in _LEVELS:
                raise DesignError(f"run {place} has {factor} = {run[factor]}: code levels as -1 and 1")
        if not math.isfinite(values[place - 1]):
            raise DesignError(
                f"run {place} has the value {values[place - 1]}: leave out its repetition, or run it again"
            )
    _check_whole(factors, runs, repetitions)
    return factors


def _check_whole(
    factors: tuple[str, ...], runs: Sequence[Mapping[str, int]], repetitions: Sequence[int]
) -> None:
    times: dict[tuple[int, tuple[int, ...]], int] = {}
    for run, repetition in zip(runs, repetitions, strict=True):
        key = repetition, tuple(run[factor] for factor in factors)
        times[key] = times.get(key, 0) + 1
    missing: list[str] = []
    double: list[str] = []
    for repetition in sorted(set(repetitions)):
        for levels in product(_LEVELS, repeat=len(factors)):
            count = times.get((repetition, levels), 0)
            said = " ".join(f"{factor}={level:+d}" for factor, level in zip(factors, levels, strict=True))
            if count != 1:
                (double if count else missing).append(f"repetition {repetition} at {said}")
    if missing:
        raise DesignError(
            f"the design is incomplete: no run of {_first(missing)}; run them, or leave these repetitions out"
        )
    if double:
        raise DesignError(
            f"the design is not balanced: several runs of {_first(double)}; give each run its own repetition"
        )


def _counted(runs: Sequence[Mapping[str, object]]) -> list[tuple[int, Mapping[str, object]]]:
    return list(enumerate(runs, 1))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _first(found: list[str]) -> str:
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more
