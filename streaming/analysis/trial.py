"""One trial of an offered rate: did the network carry it, and if not, by what one sees that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from streaming.analysis.backlog import slope

Word = Literal["passed", "failed", "ceiling"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What was measured in the steady phase while one rate was asked for."""

    asked_per_second: float
    got_per_second: float
    backlog: Sequence[float]  # due and not yet received, once a second
    lost_share: float | None  # of what became of messages; None: of none
    p99_ns: float | None  # of response time; None: too few came to tell
    at_ceiling: bool = False  # the generator could not send what was asked
    stopped: str | None = None  # why a stop rule ended it

    def __post_init__(self) -> None:
        """Raise ValueError for what cannot have been measured."""
        if not 0 < self.asked_per_second < math.inf:
            raise ValueError(f"a trial asked for {self.asked_per_second}/s: a search needs a rate above 0")
        for name, value, most in (
            ("got_per_second", self.got_per_second, math.inf),
            ("lost_share", self.lost_share or 0, 1),
            ("p99_ns", self.p99_ns or 0, math.inf),
        ):
            if not (0 <= value <= most and math.isfinite(value)):
                raise ValueError(f"a trial has {name} = {value}: it is from 0 to {most}")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rate has to hold to pass."""

    got_share: float = 0.99  # at least, of what was asked
    slope_share: float = 0.01  # below, of what was asked: the upper bound of the backlog's slope
    lost_share: float = 0.0  # at most
    p99_ns: float | None = None  # at most; None: any


class Judgement(NamedTuple):
    """What a trial says, and by what."""

    word: Word
    why: str


def judge(trial: Trial, limits: Limits | None = None) -> Judgement:
    """Return whether the rate passed; a trial at the generator's own ceiling says nothing of the network."""
    limits = limits or Limits()
    asked = trial.asked_per_second
    got = f"got {trial.got_per_second:,.4g} of {asked:,.4g}/s"
    if trial.at_ceiling:
        return Judgement("ceiling", f"the generator's ceiling: {got}")
    if trial.stopped:
        return Judgement("failed", f"stopped: {trial.stopped}")
    wrong = []
    if trial.got_per_second < limits.got_share * asked:
        wrong.append(f"{got}, less than {limits.got_share:.0%}")
    grows = slope(trial.backlog)
    if not grows.upper_per_second < limits.slope_share * asked:
        wrong.append(
            f"the backlog grows by {grows.per_second:,.3g}/s, at most {grows.upper_per_second:,.3g}/s (95 %):"
            f" not below {limits.slope_share:.0%} of the rate"
        )
    if trial.lost_share is not None and trial.lost_share > limits.lost_share:
        wrong.append(f"lost {trial.lost_share:.3%}, allowed {limits.lost_share:.3%}")
    if limits.p99_ns is not None and (trial.p99_ns is None or trial.p99_ns > limits.p99_ns):
        said = "too few came for a p99" if trial.p99_ns is None else f"p99 {trial.p99_ns / 1e6:,.4g} ms"
        wrong.append(f"{said}, allowed {limits.p99_ns / 1e6:,.4g} ms")
    return Judgement("failed", "; ".join(wrong)) if wrong else Judgement("passed", got)
