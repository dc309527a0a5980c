"""Jitter at a hand-off: how much later than one period after the one before a message comes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

PERCENTILES: Final = (50, 90, 95, 99)
MOST_MESSAGES: Final = 10_000_000


class Peak(NamedTuple):
    """The largest jitter of one repetition, and how the messages behind it caught up."""

    number: int  # of the message that came with it
    jitter_ns: int
    missing: int  # messages just before it that never came
    negative: int  # messages with negative jitter after it, until the delay was worked off
    caught_up: bool  # False: the repetition ended before that


@dataclass(frozen=True, slots=True)
class Distribution:
    """The largest jitter over repetitions."""

    repetitions: int
    mean_ns: float
    sd_ns: float | None  # None with one repetition
    max_ns: int
    percentiles_ns: dict[int, int]  # each is one that was measured
    negative_mean: float
    negative_expected: float  # largest jitter over period, less what is missing: a burst of all that was held
    not_caught_up: int  # repetitions

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


class _Gaps(NamedTuple):
    """What lies between messages that came, one after the other by their numbers."""

    numbers: NDArray[np.int64]  # of the later one
    steps: NDArray[np.int64]  # 1: none is missing between them
    jitter_ns: NDArray[np.int64]


def jitter_ns(numbers: Sequence[int], arrived_ns: Sequence[int], period_ns: int) -> NDArray[np.int64]:
    """Return t'ₙ − t'ₙ₋₁ − T of each message but the first, in the order of their numbers. Raises ValueError.

    Where messages are missing it is counted from the last that came: so long the receiver was without any.
    """
    return _gaps(numbers, arrived_ns, period_ns).jitter_ns


def largest(numbers: Sequence[int], arrived_ns: Sequence[int], period_ns: int) -> Peak:
    """Return the largest jitter of one repetition. Raises ValueError.

    The delay that it brought is worked off once no more than half a period of it is left: what is missing
    brings none, what comes in a burst takes a period away each.
    """
    gaps = _gaps(numbers, arrived_ns, period_ns)
    at = int(gaps.jitter_ns.argmax())
    delay = np.cumsum((gaps.jitter_ns - (gaps.steps - 1) * period_ns)[at:])
    done = np.flatnonzero(2 * delay <= period_ns)
    behind = gaps.jitter_ns[at + 1 :][: int(done[0]) if done.size else None]
    return Peak(
        number=int(gaps.numbers[at]),
        jitter_ns=int(gaps.jitter_ns[at]),
        missing=int(gaps.steps[at]) - 1,
        negative=int((behind < 0).sum()),
        caught_up=bool(done.size),
    )


def _gaps(numbers: Sequence[int], arrived_ns: Sequence[int], period_ns: int) -> _Gaps:
    _check(numbers, arrived_ns, period_ns)
    order = np.argsort(np.asarray(numbers, dtype=np.int64), kind="stable")
    number = np.asarray(numbers, dtype=np.int64)[order]
    arrived = np.asarray(arrived_ns, dtype=np.int64)[order]
    steps = np.diff(number)
    if not steps.all():
        double = int(number[1:][steps == 0][0])
        raise ValueError(f"message {double} arrived twice: keep its first arrival")
    return _Gaps(number[1:], steps, np.diff(arrived) - period_ns)


def over_repetitions(peaks: Sequence[Peak], period_ns: int) -> Distribution:
    """Return how the largest jitter is spread over repetitions. Raises ValueError."""
    if not peaks or period_ns <= 0:
        raise ValueError(
            f"{len(peaks)} repetitions with a period of {period_ns} ns: give one or more, and a period"
        )
    sizes = np.array([peak.jitter_ns for peak in peaks], dtype=np.int64)
    told = np.percentile(sizes, PERCENTILES, method="inverted_cdf")
    return Distribution(
        repetitions=len(peaks),
        mean_ns=float(sizes.mean()),
        sd_ns=float(sizes.std(ddof=1)) if len(peaks) > 1 else None,
        max_ns=int(sizes.max()),
        percentiles_ns={each: int(size) for each, size in zip(PERCENTILES, told, strict=True)},
        negative_mean=math.fsum(peak.negative for peak in peaks) / len(peaks),
        negative_expected=math.fsum(one.jitter_ns / period_ns - one.missing for one in peaks) / len(peaks),
        not_caught_up=sum(not peak.caught_up for peak in peaks),
    )


def _check(numbers: Sequence[int], arrived_ns: Sequence[int], period_ns: int) -> None:
    if len(numbers) != len(arrived_ns):
        raise ValueError(
            f"{len(numbers)} numbers and {len(arrived_ns)} arrivals: give one of each for a message"
        )
    if not 2 <= len(numbers) <= MOST_MESSAGES:  # noqa: PLR2004 -- jitter is between two
        raise ValueError(f"{len(numbers)} messages have no jitter to tell: give 2 to {MOST_MESSAGES:,}")
    if period_ns <= 0:
        raise ValueError(f"the period is {period_ns} ns: give the one at which messages were due")
