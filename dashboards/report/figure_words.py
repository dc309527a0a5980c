"""Figures of a comparison in words, as its table has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streaming.analysis.figures import FIGURES
from streaming.analysis.verdicts import FigureVerdict
from streaming.wording import UNKNOWN, latency, rate, share

COLUMNS: Final = ("figure", "A", "B", "B less A", "90 % interval", "margin", "p", "verdict")
_RATIOS: Final = {figure.name: figure.ratio for figure in FIGURES}
_LEAST_P: Final = 0.001


def cells(figure: FigureVerdict) -> Sequence[str]:
    """Return the texts of `COLUMNS`."""
    interval = (
        UNKNOWN if figure.low is None else f"{_change(figure, figure.low)} to {_change(figure, figure.high)}"
    )
    return (
        figure.name,
        _value(figure, figure.a),
        _value(figure, figure.b),
        _change(figure, figure.difference, unit=True),
        interval,
        _change(figure, figure.margin, unit=True).replace("+", "±"),
        _chance(figure.p_holm),
        figure.word,
    )


def _value(figure: FigureVerdict, value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if figure.unit == "ns":
        return latency(round(value))
    return rate(value) if figure.name == "rate" else share(value)


def _change(figure: FigureVerdict, change: float | None, *, unit: bool = False) -> str:
    """Return a difference in percent, or of a share in points."""
    if change is None:
        return UNKNOWN
    name = "" if not unit else " %" if _RATIOS[figure.name] else " pt"
    percent = change * 100
    digits = f"{percent:+,.0f}" if abs(percent) >= 100 else f"{percent:+.2g}"  # noqa: PLR2004 -- two digits say enough
    return (digits.replace("-", "−") if percent else "0") + name


def _chance(p_value: float | None) -> str:
    if p_value is None:
        return UNKNOWN
    return f"< {_LEAST_P}" if p_value < _LEAST_P else f"{p_value:.2g}"
