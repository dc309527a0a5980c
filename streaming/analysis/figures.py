"""What is compared: the figures of one repetition, read from a run's summary and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

MOST_RUNS: Final = 200  # a side
MOST_WINDOWS: Final = 200_000  # a run: two days of seconds
LEAST_RATE: Final = 0.01  # a second: below it a rate counts as this much, so that a ratio can be told
_MOST: Final = 2**63

Name = Literal["p50", "p99", "rate", "loss"]
Numbers = NDArray[np.float64]
Json = Mapping[str, Any]


class BadRuns(ValueError):  # noqa: N818 -- it is the runs that are bad
    """These are no runs that can be compared; says which, what of it, and what to do."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the comparison: what it is counted in, and which way is worse."""

    name: Name
    unit: str
    worse: Literal[-1, 1]  # the sign of a difference to the worse
    ratio: bool  # compared as a ratio, on logarithms; else as a difference


FIGURES: Final = (
    Figure("p50", "ns", 1, ratio=True),
    Figure("p99", "ns", 1, ratio=True),
    Figure("rate", "1/s", -1, ratio=True),
    Figure("loss", "share", 1, ratio=False),
)


@dataclass(frozen=True, slots=True)
class Series:
    """The steady windows of a run, one after the other."""

    p50_ns: Numbers  # NaN in a window without messages
    p99_ns: Numbers
    received: Numbers
    lost: Numbers


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition."""

    number: int
    repetition: int
    began_ns: int
    ended_ns: int
    at_ceiling: bool
    values: Mapping[Name, float | None]  # of the whole steady phase; None: nothing was received
    lost: int
    judged: int  # lost, received or refused: what the share of loss is of
    unobserved: int
    series: Series

    @property
    def windows(self) -> int:
        """How many steady windows."""
        return len(self.series.received)

    @property
    def identity(self) -> tuple[float, ...]:
        """What tells it from other runs, to put runs into an order of their own."""
        told = tuple(-1.0 if value is None else value for value in self.values.values())
        return (self.began_ns, self.number, *told)

    def compared(self, figure: Figure) -> float | None:
        """Return a figure on the scale on which it is compared."""
        value = self.values[figure.name]
        if value is None or not figure.ratio:
            return value
        return math.log(max(value, LEAST_RATE) if figure.name == "rate" else value)


def read_runs(summaries: Sequence[Json], side: str) -> tuple[Run, ...]:
    """Return the repetitions of a side by their time, whatever order they are given in."""
    if not isinstance(summaries, Sequence) or len(summaries) > MOST_RUNS:
        raise BadRuns(f"{side}: the summaries of at most {MOST_RUNS} runs are compared")
    levels = [_mapping(summary, "levels", f"{side}, run {n}") for n, summary in enumerate(summaries, 1)]
    if any(other != levels[0] for other in levels):
        raise BadRuns(
            f"{side} holds runs of several combinations of levels: compare one combination at a time"
        )
    runs = [_run(summary, f"{side}, run {n}") for n, summary in enumerate(summaries, 1)]
    return tuple(sorted(runs, key=lambda run: run.identity))


def _run(summary: Json, where: str) -> Run:
    if summary.get("format") != 1:
        raise BadRuns(
            f"{where}: of format {summary.get('format')!r}, not 1: compare with the version that wrote it"
        )
    number = _whole(summary, "number", where)
    where = f"{where} (number {number})"
    told = _mapping(_mapping(summary, "figures", where), "all", where)
    received, lost = _whole(told, "received", where), _whole(told, "lost", where)
    judged = lost + received + _whole(told, "refused", where)
    series = _series(_mapping(told, "series", where), _whole(told, "windows", where), where)
    began_ns, ended_ns = _whole(summary, "began_ns", where), _whole(summary, "ended_ns", where)
    if ended_ns < began_ns:
        raise BadRuns(f"{where}: it ended before it began")
    return Run(
        number=number,
        repetition=_whole(summary, "repetition", where),
        began_ns=began_ns,
        ended_ns=ended_ns,
        at_ceiling=bool(summary.get("at_ceiling")),
        values={
            "p50": _latency(told, "p50_ns", where),
            "p99": _latency(told, "p99_ns", where),
            "rate": _number(told.get("rate_per_second"), "rate_per_second", where),
            "loss": lost / judged if judged else None,
        },
        lost=lost,
        judged=judged,
        unobserved=_whole(told, "unobserved", where),
        series=series,
    )


def _series(told: Json, windows: int, where: str) -> Series:
    if windows > MOST_WINDOWS:
        raise BadRuns(f"{where}: {windows} windows, of at most {MOST_WINDOWS}: use longer windows")
    columns = {}
    for name, empty in (("p50_ns", True), ("p99_ns", True), ("received", False), ("lost", False)):
        column = told.get(name)
        if not isinstance(column, list) or len(column) != windows:
            raise BadRuns(
                f"{where}: series.{name} is no list of one number for each of its {windows} windows"
            )
        columns[name] = np.array(
            [
                math.nan if value is None and empty else _number(value, f"series.{name}", where)
                for value in column
            ],
            np.float64,
        )
        if empty and (columns[name] <= 0).any():
            raise BadRuns(f"{where}: series.{name} has a latency that is not above 0")
    return Series(**columns)


def _mapping(of: Json, key: str, where: str) -> Json:
    value = of.get(key) if isinstance(of, Mapping) else None
    if not isinstance(value, Mapping):
        raise BadRuns(f"{where}: {key} is missing: is this a summary.json of `inflight experiment`?")
    return value


def _whole(of: Json, key: str, where: str) -> int:
    value = of.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise BadRuns(f"{where}: {key} is {value!r}, and no count of 0 or more")
    return value


def _number(value: object, key: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        raise BadRuns(f"{where}: {key} is {value!r}, and no number of 0 or more")
    return float(value)


def _latency(of: Json, key: str, where: str) -> float | None:
    if of.get(key) is None:
        return None
    value = _number(of[key], key, where)
    if value <= 0:
        raise BadRuns(f"{where}: {key} is {value!r}, and no latency above 0")
    return value
