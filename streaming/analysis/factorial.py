"""2^k r designs: what each factor, and each combination of factors, changes; analysis.md says how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from streaming.analysis.design import factors_of, sign_table

CONFIDENCE: Final = 0.95
_ROUNDING: Final = 8 * float(
    np.finfo(float).eps
)  # of the largest value: what arithmetic itself may be out by
_NAMED: Final = 5
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one factor changes, or several beyond what each of them does."""

    name: str
    factors: tuple[str, ...]
    coefficient: float  # half the difference from the first level to the second
    share: float  # of the variation
    low: float | None  # None with one repetition: nothing tells the noise
    high: float | None
    significant: bool | None  # False: within noise, the interval holds 0


class Point(NamedTuple):
    """A point of the half-normal plot: where only noise is, the points lie on a line through 0."""

    name: str
    quantile: float
    size: float


@dataclass(frozen=True, slots=True)
class Effects:
    """What a design found."""

    factors: tuple[str, ...]
    repetitions: int
    mean: float
    effects: tuple[Effect, ...]  # single factors first, then pairs, then threes ...
    share_blocks: float  # of the variation: between repetitions
    share_errors: float  # what nothing explains
    degrees_of_freedom: int  # of the errors; 0 with one repetition
    standard_error: float | None  # of each coefficient
    pseudo_standard_error: float | None  # Lenth's, with one repetition
    predicted: tuple[float, ...]  # as the runs were given: the mean of the combination and of the repetition
    residuals: tuple[float, ...]

    def half_normal(self) -> list[Point]:
        """Return the points of the plot, the smallest effect first."""
        ordered = sorted(self.effects, key=lambda effect: abs(effect.coefficient))
        chances = 0.5 + (np.arange(len(ordered)) + 0.5) / (2 * len(ordered))
        quantiles = stats.norm.ppf(chances)
        return [
            Point(effect.name, float(quantile), abs(effect.coefficient))
            for effect, quantile in zip(ordered, quantiles, strict=True)
        ]

    @property
    def why(self) -> str:
        """What explains the variation, in a sentence, and what cannot be told from noise."""
        ordered = sorted(self.effects, key=lambda effect: -effect.share)
        if self.standard_error is None:
            shares = _listed([f"{one.name} {one.share:.0%}" for one in ordered])
            return (
                f"one repetition tells no noise, so no effect has an interval; shares of variation: {shares}"
            )
        clear = [_told(one) for one in ordered if one.significant]
        noise = [one.name for one in ordered if not one.significant]
        parts = [f"explained: {_listed(clear)}"] if clear else ["no effect can be told from noise"]
        parts += [f"within noise: {_listed(noise)}"] if clear and noise else []
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {**asdict(self), "why": self.why}


def analyse(
    levels: Sequence[Mapping[str, int]], values: Sequence[float], repetitions: Sequence[int] | None = None
) -> Effects:
    """Return the effects of factors on a value that was measured once in each run.

    Args:
        levels: of each run, each factor's as -1 or 1 (`design.coded` makes them).
        values: of each run.
        repetitions: of each run, which one it is of: each holds every combination once. None: one for all.

    Raises:
        DesignError: where the design is not complete, or not balanced.
    """
    blocks = [0] * len(levels) if repetitions is None else list(repetitions)
    factors = factors_of(levels, values, blocks)
    terms, signs = sign_table(factors, levels)
    measured = np.asarray(values, dtype=np.float64)
    mean = float(measured.mean())
    coefficients = (signs * (measured - mean)[:, None]).mean(axis=0)
    of_block = _block_means(measured, blocks) - mean
    predicted = mean + of_block + signs @ coefficients
    residuals = measured - predicted
    runs, count = len(measured), len(set(blocks))
    squares = runs * coefficients**2
    total = float(squares.sum() + (of_block**2).sum() + (residuals**2).sum())
    freedom = len(terms) * (count - 1)
    error = _standard_error(measured, residuals, freedom) if freedom else None
    half = error * float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) if error is not None else None
    return Effects(
        factors=factors,
        repetitions=count,
        mean=mean,
        effects=tuple(
            _effect(term, float(coefficient), _share(float(square), total), half)
            for term, coefficient, square in zip(terms, coefficients, squares, strict=True)
        ),
        share_blocks=_share(float((of_block**2).sum()), total),
        share_errors=_share(float((residuals**2).sum()), total),
        degrees_of_freedom=freedom,
        standard_error=error,
        pseudo_standard_error=None if freedom else _lenth(coefficients),
        predicted=tuple(predicted.tolist()),
        residuals=tuple(residuals.tolist()),
    )


def _effect(term: tuple[str, ...], coefficient: float, share: float, half: float | None) -> Effect:
    if half is None:
        return Effect(" × ".join(term), term, coefficient, share, None, None, None)
    low, high = coefficient - half, coefficient + half
    return Effect(" × ".join(term), term, coefficient, share, low, high, not low <= 0 <= high)


def _block_means(measured: Numbers, blocks: list[int]) -> Numbers:
    """Return for each run the mean of its repetition."""
    _, places = np.unique(np.asarray(blocks), return_inverse=True)
    means: Numbers = np.bincount(places, weights=measured) / np.bincount(places)
    return means[places]


def _standard_error(measured: Numbers, residuals: Numbers, freedom: int) -> float:
    """Return the standard error of a coefficient, which is the same for all of them."""
    variance = float((residuals**2).sum()) / freedom
    return max(float(np.sqrt(variance / len(measured))), _ROUNDING * float(np.abs(measured).max()))


def _lenth(coefficients: Numbers) -> float:
    """Return the pseudo standard error: the spread of the effects that are none."""
    sizes = np.abs(coefficients)
    first = 1.5 * float(np.median(sizes))
    return 1.5 * float(np.median(sizes[sizes <= 2.5 * first]))


def _share(part: float, total: float) -> float:
    return part / total if total > 0 else 0.0


def _told(effect: Effect) -> str:
    interval = f"from {effect.low:.4g} to {effect.high:.4g}"
    return f"{effect.name} {effect.share:.0%} of the variation ({effect.coefficient:+.4g}, {interval})"


def _listed(said: list[str]) -> str:
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return ", ".join(said[:_NAMED]) + more
