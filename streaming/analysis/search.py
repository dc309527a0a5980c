"""Finds the highest rate that a network carries: which rate to try next, and what all trials say together."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from streaming.analysis.trial import Judgement, Limits, Trial, judge

__all__ = ["Interval", "Judgement", "Limits", "Search", "Trial", "judge"]

TRIALS: Final = 3  # of one rate
FAILED: Final = 2  # of them
MOST_TRIALS: Final = 60
MOST_DOUBLINGS: Final = 20
MOST_HALVINGS: Final = 10
_LEAST_RESOLUTION: Final = 0.01
_PASSED: Final = f"passed {TRIALS} of {TRIALS}"
_FAILED: Final = f"failed {FAILED} of {TRIALS}"
_DIGITS: Final = 4  # of a rate: it is shown to people, and kept in files


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the capacity lies; None where no rate passed, or none failed."""

    low_per_second: float | None  # the highest that passed 3 of 3, and none below it did not
    high_per_second: float | None  # the lowest that failed 2 of 3, and all above it did
    ceiling_per_second: (
        float | None
    )  # the lowest at which the generator was at its own, where it hides the end
    disagreed: tuple[float, ...]  # rates whose trials did not agree
    trials: int
    ended: bool  # nothing is left to be tried
    says: str

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


class _Tally(NamedTuple):
    """The trials of one rate."""

    passed: int = 0
    failed: int = 0
    ceiling: bool = False

    @property
    def good(self) -> bool:
        return bool(self.passed) and not self.failed

    @property
    def bad(self) -> bool:
        return self.failed >= FAILED or (bool(self.failed) and not self.passed)

    @property
    def done(self) -> bool:
        return self.failed >= FAILED or self.passed + self.failed >= TRIALS


class _Ends(NamedTuple):
    """Rates around the capacity, without those at the generator's ceiling.

    What is between `doubt` and `hope` is in dispute.
    """

    good: float | None  # the highest below which all passed
    doubt: float | None  # the lowest that did not pass
    hope: float | None  # the highest that did not fail
    bad: float | None  # the lowest above which all failed


class Search:
    """Bisects between what passes and what fails, in equal ratios; knows no clock and starts nothing.

    One trial decides where to go on; the ends are tried until they passed 3 of 3 and failed 2 of 3, and where
    one does not the search goes on around it. What is next follows from the trials alone, so that a search
    that was cut goes on once it is given them again.
    """

    def __init__(
        self,
        low: float,
        high: float | None = None,
        *,
        limits: Limits | None = None,
        resolution: float = 0.05,
        most_trials: int = MOST_TRIALS,
    ) -> None:
        """Begin at `low`; without `high` the upper end is found by doubling. Raises ValueError."""
        if not (0 < low < math.inf) or (high is not None and not (low < high < math.inf)):
            raise ValueError(f"a search from {low} to {high}: give a rate above 0, and a higher one or none")
        if not _LEAST_RESOLUTION <= resolution <= 1:
            raise ValueError(f"a search with resolution {resolution}: give one from {_LEAST_RESOLUTION} to 1")
        self._low, self._high = low, high
        self._limits = limits or Limits()
        self._ratio = 1 + resolution
        self._most_trials = most_trials
        self._tried: dict[float, _Tally] = {}
        self._trials = 0

    def took(self, rate: float, trial: Trial) -> Judgement:
        """Take what a trial of this rate measured, and return how it was judged."""
        judgement = judge(trial, self._limits)
        before = self._tried.get(rate, _Tally())
        self._tried[rate] = _Tally(
            before.passed + (judgement.word == "passed"),
            before.failed + (judgement.word == "failed"),
            before.ceiling or judgement.word == "ceiling",
        )
        self._trials += 1
        return judgement

    def next_rate(self) -> float | None:
        """Return the rate to try next; None: the search has ended."""
        return self._wanted() if self._trials < self._most_trials else None

    def _wanted(self) -> float | None:
        if not self._tried:
            return self._low
        ends = self._ends()
        disputed = self._disputed(ends)
        if disputed is not None:
            return disputed
        if ends.good is None:
            lower = _rounded(min(self._tried) / 2)
            return lower if lower >= self._low / 2**MOST_HALVINGS else self._unsure(ends.bad, FAILED)
        return self._beyond(ends) or self._between(ends) or self._to_confirm(ends)

    def _ends(self) -> _Ends:
        rates = [(rate, tally) for rate, tally in sorted(self._tried.items()) if not tally.ceiling]
        doubt = next((rate for rate, tally in rates if not tally.good), None)
        hope = next((rate for rate, tally in reversed(rates) if not tally.bad), None)
        good = max((rate for rate, _ in rates if doubt is None or rate < doubt), default=None)
        bad = min((rate for rate, _ in rates if hope is None or rate > hope), default=None)
        return _Ends(good, doubt, hope, bad)

    def _disputed(self, ends: _Ends) -> float | None:
        """Return the lowest rate that has to be tried again as it, or another one, contradicts the order."""
        if ends.doubt is None or ends.hope is None:
            return None
        within = ((rate, tally) for rate, tally in sorted(self._tried.items()) if not tally.ceiling)
        return next(
            (rate for rate, tally in within if ends.doubt <= rate <= ends.hope and not tally.done), None
        )

    def _beyond(self, ends: _Ends) -> float | None:
        """Return a rate above all that were tried, while none of them failed."""
        if ends.bad is not None or ends.hope is None or self._ceiling_above(ends.hope) is not None:
            return None
        most = self._high or self._low * 2**MOST_DOUBLINGS
        higher = self._high or _rounded(ends.hope * 2)
        return higher if ends.hope < higher <= most else None

    def _between(self, ends: _Ends) -> float | None:
        """Return the middle of a gap that is wider than wanted: below what is in dispute, then above it."""
        for lower, told in ((ends.good, ends.doubt), (ends.hope, ends.bad)):
            if lower is None:
                continue
            uppers = [rate for rate in (told, self._ceiling_above(lower)) if rate is not None]
            if uppers and min(uppers) / lower > self._ratio:
                return _rounded(math.sqrt(lower * min(uppers)))
        return None

    def _ceiling_above(self, rate: float) -> float | None:
        """Return the lowest rate above this one that the generator could not send."""
        return min((one for one, tally in self._tried.items() if tally.ceiling and one > rate), default=None)

    def _to_confirm(self, ends: _Ends) -> float | None:
        return self._unsure(ends.good, TRIALS) or self._unsure(ends.bad, FAILED)

    def _unsure(self, rate: float | None, wanted: int) -> float | None:
        """Return the rate if it has not been tried this often."""
        if rate is None:
            return None
        tally = self._tried[rate]
        return rate if max(tally.passed, tally.failed) < wanted else None

    def interval(self) -> Interval:
        """Return what is known by now."""
        ends, tried = self._ends(), sorted(self._tried.items())
        judged = [(rate, one) for rate, one in tried if not one.ceiling]
        passed = [rate for rate, one in judged if one.passed >= TRIALS and rate <= (ends.good or 0)]
        failed = [rate for rate, one in judged if one.failed >= FAILED and rate >= (ends.bad or math.inf)]
        low, high = max(passed, default=None), min(failed, default=None)
        ceiling = self._ceiling_above(low or 0)
        if ceiling is not None and high is not None and ceiling > high:
            ceiling = None
        disagreed = tuple(rate for rate, one in tried if one.passed and one.failed)
        ended = bool(tried) and self._wanted() is None
        says = _said(low, high, ceiling, disagreed)
        if not ended:
            says += f"; not all was tried that should be: {self._trials} trials"
        return Interval(low, high, ceiling, disagreed, self._trials, ended, says)


def _said(low: float | None, high: float | None, ceiling: float | None, disagreed: tuple[float, ...]) -> str:
    if low is not None and high is not None:
        said = f"between {low:,g}/s, which {_PASSED}, and {high:,g}/s, which {_FAILED}"
    elif low is not None:
        said = f"at least {low:,g}/s, which {_PASSED}; no rate {_FAILED}"
    elif high is not None:
        said = f"below {high:,g}/s, which {_FAILED}; no rate {_PASSED}"
    else:
        said = f"no rate {_PASSED}, and none {_FAILED}"
    if ceiling is not None:
        said += f"; the generator's own ceiling is at {ceiling:,g}/s, so no more can be told of the network"
    if disagreed:
        said += f"; trials disagreed at {', '.join(f'{rate:,g}/s' for rate in disagreed)}"
    return said


def _rounded(rate: float) -> float:
    return float(f"{rate:.{_DIGITS}g}")
