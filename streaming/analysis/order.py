"""In which order the runs of two sides were made, and so which test suits them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from streaming.analysis.equivalence import ALPHA
from streaming.analysis.figures import FIGURES, Run
from streaming.analysis.permutation import least_p_of_pairs

Test = Literal["sides", "pairs"]
_A_PAIR: Final = 2


def are_pairs(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Whether each repetition was one run of A and one of B, one after the other, and then the next."""
    by_time = sorted((*a, *b), key=lambda run: run.began_ns)
    repetitions = [run.repetition for run in by_time]
    sides = [{run.repetition for run in side} for side in (a, b)]
    return (
        len(sides[0]) == len(a) == len(b)
        and sides[0] == sides[1]
        and repetitions[::_A_PAIR] == repetitions[1::_A_PAIR]
    )


def are_interleaved(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Whether neither side was over before the other began."""
    if not a or not b:
        return False
    return min(run.began_ns for run in a) < max(run.began_ns for run in b) and min(
        run.began_ns for run in b
    ) < max(run.began_ns for run in a)


def test_for(a: Sequence[Run], b: Sequence[Run]) -> Test:
    """Return what is given anew: A and B within each pair, or the sides of all runs.

    Few pairs cannot reach the level, whatever they differ by [6 pairs: p is 1/32 at the least, and
    Holm asks for 1/80]. The sides of all runs can; for pairs that test errs on the side of no finding.
    """
    enough = least_p_of_pairs(len(a)) * len(FIGURES) <= ALPHA
    return "pairs" if are_pairs(a, b) and enough else "sides"
