"""What a comparison says: of each figure, and of all of them together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from streaming.analysis.equivalence import ALPHA, Margins, Word
from streaming.analysis.figures import Name
from streaming.analysis.intervals import CONFIDENCE


@dataclass(frozen=True, slots=True)
class FigureVerdict:
    """One figure: both sides, how far B is from A, and what that means."""

    name: Name
    unit: str
    a: float | None  # geometric mean of the repetitions, of loss the mean; None: a run has no such figure
    b: float | None
    difference: float | None  # B less A: as a share of A, of loss in shares of the messages
    low: float | None  # of the interval; None: too little was measured
    high: float | None
    margin: float | None  # in the same unit, upwards
    p_value: float | None
    p_holm: float | None
    word: Word
    not_worse: bool  # the worse end of the interval is within the margin
    repetitions: int | None  # about how many a side would decide it, if it is unclear and more of them would
    decided_by: str  # what else would


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whether the machine was as fast beside B as it was beside A."""

    agrees: bool
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, and how it was found."""

    word: Word
    why: str  # one sentence, the word first
    figures: tuple[FigureVerdict, ...]
    repetitions: tuple[int, int]  # of A, of B
    test: Literal[
        "sides", "pairs", "none"
    ]  # what was given anew: the sides of all runs, or those of each pair
    interleaved: bool  # neither side was over before the other began
    margins: Margins
    seed: int
    calibration: Calibration | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON, with the rules that it was found by."""
        return {"format": 1, **asdict(self), "alpha": ALPHA, "confidence": CONFIDENCE}
