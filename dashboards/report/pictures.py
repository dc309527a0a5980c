"""Plots of figures: each run as a dot, by the levels of its factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bokeh.layouts import row
from bokeh.models import ColumnDataSource, FactorRange

from dashboards.report.cells import LOST, P50, P99, RATE, Cell, Column
from dashboards.report.style import BLUE, LOG_FROM, RED, hover, name_lines, plain, plot

MOST_CELLS: Final = 40
# Figure, title, unit, divisor, colour.
_LATENCIES: Final = ((P50, BLUE), (P99, RED))


def by_cell(found: Sequence[Cell]) -> Any:
    """Return the runs' latency, rate and loss by cell, or None where that would be no picture."""
    if sum(len(cell.runs) for cell in found) <= 1 or len(found) > MOST_CELLS:
        return None
    names = [
        f"{number}. {plain(cell.name)}" if len(found) > 1 else "all runs"
        for number, cell in enumerate(found, 1)
    ]
    plots = [
        made
        for title, unit, drawn, divisor in (
            ("response latency", "ms", _LATENCIES, 1e6),
            ("rate", "msg/s", ((RATE, BLUE),), 1),
            ("lost", "%", ((LOST, BLUE),), 0.01),
        )
        if (made := _dots(title, unit, drawn, divisor, found, names)) is not None
    ]
    return row(*plots, sizing_mode="stretch_width") if plots else None


def _dots(
    title: str,
    unit: str,
    drawn: Sequence[tuple[Column, str]],
    divisor: float,
    found: Sequence[Cell],
    names: Sequence[str],
) -> Any:
    values = {
        column.name: [
            (name, value / divisor, run.number)
            for name, cell in zip(names, found, strict=True)
            for run in cell.runs
            if run.all is not None and (value := column.value(run.all)) is not None
        ]
        for column, _ in drawn
    }
    known = [value for dots in values.values() for _, value, _ in dots]
    if not known or not any(known):
        return None
    log = min(known) > 0 and max(known) > LOG_FROM * min(known)
    made = plot(title, unit, 260, log=log, x_range=FactorRange(*names))
    if not log:
        made.y_range.start = 0
    made.xaxis.major_label_orientation = 0.6 if len(names) > 1 else 0
    made.xaxis.major_label_text_font_size = "11px"
    dots = []
    for column, colour in drawn:
        of_column = values[column.name]
        source = ColumnDataSource(
            {
                "x": [x for x, _, _ in of_column],
                "y": [y for _, y, _ in of_column],
                "run": [n for *_, n in of_column],
            }
        )
        dots.append(
            made.scatter(
                "x",
                "y",
                source=source,
                size=8,
                marker="circle" if colour == BLUE else "triangle",
                fill_color=colour,
                fill_alpha=0.55,
                line_color=colour,
                name=column.name,
                legend_label=column.name,
            )
        )
        medians = [
            (name, spread.median / divisor)
            for name, cell in zip(names, found, strict=True)
            if (spread := cell.spread(column)) is not None
        ]
        made.scatter(
            [name for name, _ in medians],
            [median for _, median in medians],
            marker="dash",
            size=26,
            line_width=3,
            line_color=colour,
        )
    hover(made, [("", "$name"), (unit, "@y{0,0.[000]}"), ("run", "@run")], renderers=dots)
    name_lines(made)
    made.legend.visible = len(drawn) > 1
    return made
