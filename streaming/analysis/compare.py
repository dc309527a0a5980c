"""Did it become better or worse? Two sets of runs in, a verdict out; the rules and why: analysis.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streaming.analysis.equivalence import DEFAULT, Margins, Word
from streaming.analysis.figures import FIGURES, Json, read_runs
from streaming.analysis.judged import judge, too_little
from streaming.analysis.order import are_interleaved, test_for
from streaming.analysis.sentence import needs, sentence, spans
from streaming.analysis.verdicts import Calibration, FigureVerdict, Verdict

SEED: Final = 1
_OF_A_MACHINE: Final = tuple(figure for figure in FIGURES if figure.name != "loss")
_BY_TURNS: Final = (
    "A and B were not run by turns, and no calibration says that the machine was as fast beside both"
)


def verdict(
    a: Sequence[Json],
    b: Sequence[Json],
    margins: Margins = DEFAULT,
    seed: int = SEED,
    calibration: Calibration | None = None,
) -> Verdict:
    """Return whether B is the same as A, better, worse, or unclear, from the summaries of their runs.

    Raises BadRuns where these are no summaries, or a side holds more than one kind of run.
    """
    sides = read_runs(a, "A"), read_runs(b, "B")
    missing = too_little(sides)
    figures = judge(sides, margins, seed)
    word = _of_all(figures)
    because, after = missing, []
    if calibration is not None and not calibration.agrees:
        word, because = "unclear", calibration.why
    elif not missing and calibration is None and not are_interleaved(*sides):
        word, because = "unclear", _BY_TURNS
    elif not missing and word == "unclear":
        after = needs(figures)
    return Verdict(
        word=word,
        why=sentence(word, [] if missing else figures, because, after),
        figures=tuple(figures),
        repetitions=(len(sides[0]), len(sides[1])),
        test="none" if missing else test_for(*sides),
        interleaved=are_interleaved(*sides),
        margins=margins,
        seed=seed,
        calibration=calibration,
    )


def calibrate(
    beside_a: Sequence[Json], beside_b: Sequence[Json], margins: Margins = DEFAULT, seed: int = SEED
) -> Calibration:
    """Return whether a machine was as fast at one time as at another, by the same load run at both.

    Latencies and rate have to be the same by the rules of a verdict; not having found a difference is
    not enough. Raises BadRuns as `verdict` does.
    """
    sides = read_runs(beside_a, "calibration beside A"), read_runs(beside_b, "calibration beside B")
    if missing := too_little(sides):
        return Calibration(agrees=False, why=f"the calibration is too little: {missing}")
    figures = judge(sides, margins, seed, _OF_A_MACHINE)
    other = [figure for figure in figures if figure.word != "same"]
    if not other:
        return Calibration(agrees=True, why="the machine was as fast beside both")
    return Calibration(
        agrees=False,
        why=f"the machine is not known to have been as fast beside both: calibration {spans(other)}",
    )


def _of_all(figures: Sequence[FigureVerdict]) -> Word:
    """Return the word of all: any worse is worse; better where no other may be worse than its margin."""
    words = {figure.word for figure in figures}
    if "worse" in words:
        return "worse"
    if words == {"same"}:
        return "same"
    harmless = all(figure.word != "unclear" or figure.not_worse for figure in figures)
    return "better" if "better" in words and harmless else "unclear"
