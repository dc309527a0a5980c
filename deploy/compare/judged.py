"""The verdict on two sides: of each combination of levels, and of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashboards.report.cells import written
from deploy.compare.sides import Side, check, needs_calibration
from deploy.errors import Problem
from streaming.analysis.compare import calibrate, verdict
from streaming.analysis.equivalence import Word
from streaming.analysis.figures import BadRuns
from streaming.analysis.verdicts import Calibration, Verdict

EXIT_STATUS: Final[Mapping[Word, int]] = {"same": 0, "better": 0, "worse": 1, "unclear": 3}
_FORMAT: Final = 1
_TO_DO: Final = (
    "run a calibration load beside both, and name its result folder: `inflight baseline save NAME FOLDER"
    " --calibration FOLDER`, `inflight compare --calibration FOLDER`"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A combination of levels, and what was found of it."""

    levels: Mapping[str, Any]
    verdict: Verdict

    @property
    def name(self) -> str:
        return ", ".join(f"{name} = {written(level)}" for name, level in self.levels.items())


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer."""

    a: Side
    b: Side
    judged: Sequence[Judged]

    @property
    def word(self) -> Word:
        words = {each.verdict.word for each in self.judged}
        if "worse" in words or len(words) == 1:
            return "worse" if "worse" in words else next(iter(words))
        return "unclear" if "unclear" in words else "better"

    @property
    def why(self) -> str:
        """The answer in a sentence, its word first."""
        if len(self.judged) == 1:
            return self.judged[0].verdict.why
        first = next(each for each in self.judged if each.verdict.word == self.word)
        count = sum(each.verdict.word == self.word for each in self.judged)
        reason = first.verdict.why.removeprefix(f"{self.word}: ")
        return (
            f"{self.word}: with {count} of {len(self.judged)} combinations of levels; {first.name}: {reason}"
        )

    @property
    def remarks(self) -> list[str]:
        said = []
        if len(self.judged) > 1:
            said.append(
                f"{len(self.judged)} combinations are judged each by itself: of twenty that are the same"
                " one may be told worse or better by chance"
            )
        for name, side in (("A", self.a), ("B", self.b)):
            if missing := len(side.results.plan.runs) - len(side.results.runs):
                said.append(f"of {name} {missing} of {len(side.results.plan.runs)} runs are missing")
        calibration = self.judged[0].verdict.calibration
        if calibration is not None and calibration.agrees:
            said.append(f"calibration: {calibration.why}")
        return said

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.word]

    def as_json(self) -> dict[str, Any]:
        """Return all of it; a verdict has its own form, of streaming/analysis."""
        return {
            "format": _FORMAT,
            "word": self.word,
            "why": self.why,
            **{key: _side(side) for key, side in (("a", self.a), ("b", self.b))},
            "verdicts": [{"levels": each.levels, **each.verdict.as_json()} for each in self.judged],
            "remarks": self.remarks,
        }


def _side(side: Side) -> dict[str, Any]:
    plan = side.results.plan
    return {
        "name": side.name,
        "plan": plan.plan,
        "runs": len(side.results.runs),
        "versions": plan.versions,
        "machine": plan.machine,
    }


def compare(a: Side, b: Side) -> Comparison:
    """Return the comparison; raises Problem where the two cannot be compared."""
    check(a, b)
    calibration = _calibration(a, b)
    by_levels = [_by_levels(side) for side in (a, b)]
    if by_levels[0].keys() != by_levels[1].keys():
        only = min(by_levels[0].keys() ^ by_levels[1].keys())
        where = "A" if only in by_levels[0] else "B"
        raise Problem(
            f"only {where} has finished runs with {only or 'no levels'}: resume the other, then compare"
        )
    judged = []
    for key, found in by_levels[0].items():
        other = by_levels[1][key]
        try:
            judged.append(Judged(found[0]["levels"], verdict(found, other, calibration=calibration)))
        except BadRuns as error:
            raise Problem(f"these runs cannot be compared: {error}") from None
    return Comparison(a, b, judged)


def _by_levels(side: Side) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for summary in side.results.summaries:
        key = ", ".join(f"{name} = {written(level)}" for name, level in sorted(summary["levels"].items()))
        found.setdefault(key, []).append(summary)
    return found


def _calibration(a: Side, b: Side) -> Calibration | None:
    if a.calibration and b.calibration:
        try:
            return calibrate(a.calibration.summaries, b.calibration.summaries)
        except BadRuns as error:
            raise Problem(f"the calibration cannot be used: {error}") from None
    why = needs_calibration(a, b)
    return Calibration(agrees=False, why=f"{why}; {_TO_DO}") if why else None
