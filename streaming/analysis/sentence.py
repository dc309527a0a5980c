"""A verdict in plain English: one sentence that can stand first in a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from streaming.analysis.equivalence import Word
from streaming.analysis.verdicts import FigureVerdict

_TIMES: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_WHOLE: Final = 100  # from here on no digits behind the point
_NOTHING: Final = 1e-6
_ORDER: Final[tuple[Word, ...]] = ("worse", "better", "unclear", "same")


def sentence(word: Word, figures: Sequence[FigureVerdict], because: str, after: Iterable[str]) -> str:
    """Return the answer: the reason, what decided it with its numbers, the rest by name, what follows."""
    told = [figure for figure in figures if figure.word == word]
    parts = [because] if because else []
    if word == "same":
        parts.append(f"every 90 % interval lies within its margin: {', '.join(map(_within, told))}")
    elif told:
        parts.append(spans(told))
    for other in _ORDER:
        names = [figure.name for figure in figures if figure.word == other != word]
        if names:
            parts.append(f"{listed(names)} {'the same' if other == 'same' else other}")
    return f"{word}: {'; '.join([*parts, *after])}"


def spans(figures: Iterable[FigureVerdict]) -> str:
    """Return figures such as `p99 4.1 → 6.3 ms (+54 %, 90 % interval +31 to +80 %)`."""
    return ", ".join(f"{figure.name} {amounts(figure)} ({span(figure)})" for figure in figures)


def span(figure: FigureVerdict) -> str:
    """Return the difference and its interval, such as `+54 %, 90 % interval +31 to +80 %`."""
    if figure.difference is None:
        return "a run has none"
    text = f"{_signed(figure.difference)} {_unit(figure)}"
    return f"{text}, 90 % interval {_ends(figure)}" if figure.low is not None else text


def amounts(figure: FigureVerdict) -> str:
    """Return both sides in one unit, such as `4.1 → 6.3 ms`."""
    if figure.a is None or figure.b is None:
        return "not known"
    scale, unit = (1.0, "/s") if figure.name == "rate" else (0.01, " %")
    if figure.unit == "ns":
        most = max(figure.a, figure.b)
        scale, unit = next((s, f" {u}") for s, u in _TIMES if most >= s or s == 1)
    return f"{_digits(figure.a / scale)} → {_digits(figure.b / scale)}{unit}"


def needs(figures: Iterable[FigureVerdict]) -> list[str]:
    """Return what would decide the figures that are open: of repetitions the most, and what else."""
    found = []
    by_more = [figure for figure in figures if figure.repetitions is not None]
    if by_more:
        most = max(figure.repetitions or 0 for figure in by_more)
        names = listed([figure.name for figure in by_more])
        found.append(f"about {most} repetitions a side would decide {names}")
    ways: dict[str, list[str]] = {}
    for figure in figures:
        if figure.word == "unclear" and figure.decided_by:
            ways.setdefault(figure.decided_by, []).append(figure.name)
    return [*found, *(f"for {listed(names)} it takes {way}" for way, names in ways.items())]


def listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _within(figure: FigureVerdict) -> str:
    return f"{figure.name} {_ends(figure)} (margin {_digits((figure.margin or 0) * 100)} {_unit(figure)})"


def _unit(figure: FigureVerdict) -> str:
    return "points" if figure.name == "loss" else "%"


def _ends(figure: FigureVerdict) -> str:
    return f"{_signed(figure.low or 0.0)} to {_signed(figure.high or 0.0)} {_unit(figure)}"


def _signed(share: float) -> str:
    digits = _digits(abs(share) * 100)
    return digits if digits == "0" else f"{'+' if share > 0 else '−'}{digits}"


def _digits(value: float) -> str:
    """Return two digits that count, from 100 on all whole ones, and never an exponent."""
    if value < _NOTHING:
        return "0"
    if value >= _WHOLE:
        return f"{value:,.0f}"
    text = f"{value:.{max(1 - math.floor(math.log10(value)), 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
