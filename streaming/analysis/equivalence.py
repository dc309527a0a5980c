"""What counts as the same: margins, the word of a figure by them, and what would decide an open one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Final, Literal

from scipy import special

from streaming.analysis.figures import Figure

ALPHA: Final = 0.05
MOST_REPETITIONS: Final = 100  # a side: what needs more is not decided by repeating
_POWER: Final = 0.80
Word = Literal["same", "better", "worse", "unclear"]


@dataclass(frozen=True, slots=True)
class Margins:
    """Differences that do not matter: shares of the figure, points of loss as a share of messages."""

    p50: float = 0.05
    p99: float = 0.10
    rate: float = 0.02
    loss: float = 0.000_1
    latency_floor_ns: float = 50_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (0 < value < 1 or (name.endswith("_ns") and 0 <= value < math.inf)):
                raise ValueError(
                    f"the margin {name} is {value}: a share is above 0 and below 1, a floor 0 or more"
                )

    def on_scale(self, figure: Figure, a: float, b: float) -> float:
        """Return the margin on the scale on which a figure is compared; a and b are its values there.

        A floor is taken of the lower side, so that A and B may change places.
        """
        share = float(getattr(self, figure.name))
        if not figure.ratio:
            return share
        if figure.unit == "ns":
            share = max(share, self.latency_floor_ns / math.exp(min(a, b)))
        return math.log1p(share)


DEFAULT: Final = Margins()


def word_of(
    figure: Figure, difference: float, interval: tuple[float, float], margin: float, p_holm: float
) -> Word:
    """Return what is known of one figure: the same where all of the interval is within the margin."""
    low, high = interval
    if -margin <= low and high <= margin:
        return "same"
    if p_holm > ALPHA:
        return "unclear"
    return "worse" if difference * figure.worse > 0 else "better"


def is_not_worse(figure: Figure, interval: tuple[float, float], margin: float) -> bool:
    """Whether the worse end of the interval is within the margin."""
    low, high = interval
    return high <= margin if figure.worse > 0 else -low <= margin


def repetitions_needed(
    difference: float, interval: tuple[float, float], margin: float, repetitions: int, figures: int
) -> int | None:
    """Return about how many repetitions a side would decide it, by the spread so far; None: too many.

    An interval narrows with the root of the repetitions. It ends as the same once it fits between the
    difference and the margin, or as a difference once a test finds one of this size in 8 of 10 cases.
    """
    half = (interval[1] - interval[0]) / 2
    room = margin - abs(difference)
    ways = []
    if room > 0:
        ways.append((half / room) ** 2)
    if difference:
        error = half / float(special.ndtri(1 - ALPHA))  # 90 % are 1.64 standard errors either way
        reach = float(special.ndtri(1 - ALPHA / 2 / figures) + special.ndtri(_POWER))
        ways.append((reach * error / abs(difference)) ** 2)
    if not ways or repetitions * min(ways) > MOST_REPETITIONS:
        return None
    return max(math.ceil(repetitions * min(ways)), repetitions + 1)
