"""Runs whose load rises step by step: at which step most came, and where it broke."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from bokeh.layouts import row
from bokeh.models import ColumnDataSource

from dashboards.report.cells import written
from dashboards.report.model import Results, Run
from dashboards.report.style import BLUE, GREEN, RED, hover, name_lines, plain, plot
from streaming.analysis import ramp
from streaming.wording import rate

_NUMBER: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(\S*)\s*")
_LEAST_STEPS: Final = 3  # of a ramp that is worth a sentence


class Ramp(NamedTuple):
    """What is known of a run's ramp; a level is written as in the plan."""

    levels: Sequence[float]
    unit: str
    steps: Sequence[ramp.Step]
    found: ramp.Ramp

    def written(self, level: float) -> str:
        return f"{level:,g}{self.unit}"


def of(run: Run) -> Ramp | None:
    """Return the ramp of a run, or None where its steps are none that rise."""
    numbers = [_NUMBER.fullmatch(written(step.value)) for step in run.steps]
    steps = [
        ramp.Step(
            level=float(number[1]),
            seconds=(step.to_ns - step.from_ns) / 1e9,
            asked=figures.sent + figures.unsent,
            in_time=figures.received,
        )
        for step, number in zip(run.steps, numbers, strict=True)
        if number and (figures := step.figures.get("all")) is not None and figures.sent + figures.unsent
    ]
    units = {number[2] for number in numbers if number}
    if len(steps) < max(len(run.steps), _LEAST_STEPS) or len(units) > 1:
        return None
    try:
        found = ramp.read(steps)
    except ValueError:
        return None
    return Ramp([step.level for step in steps], units.pop(), steps, found)


def answer(results: Results) -> Iterator[str]:
    """Yield where most came and where it broke, over all runs that have a ramp."""
    found = [each for run in results.runs if (each := of(run)) is not None]
    if not found:
        return
    peaks = _range(found, [each.found.peak_level for each in found])
    rates = [each.found.peak_per_second for each in found]
    most = (
        rate(min(rates))
        if rate(min(rates)) == rate(max(rates))
        else f"{rate(min(rates))} to {rate(max(rates))}"
    )
    yield f"most came at {peaks}, {most}"
    broken = [(each, each.found.breaks_at) for each in found if each.found.breaks_at is not None]
    if not broken:
        yield f"it does not break until {found[0].written(found[0].levels[-1])}"
        return
    where = _range([each for each, _ in broken], [level for _, level in broken])
    runs = "" if len(broken) == len(found) else f" in {len(broken)} of {len(found)} runs"
    yield f"it breaks{runs} at {where}"


def _range(found: Sequence[Ramp], levels: Sequence[float]) -> str:
    least, most = (found[0].written(level) for level in (min(levels), max(levels)))
    return least if least == most else f"{least} to {most}"


def drawn(run: Run) -> Any:
    """Return what was due and what came by the step, and the latency, or None where it is no ramp."""
    found = of(run)
    if found is None:
        return None
    seconds = [step.seconds for step in found.steps]
    rates = plot("by the step", "msg/s", 220, about="step" + (f", {plain(found.unit)}" if found.unit else ""))
    rates.y_range.start = 0
    for name, colour, counts in (
        ("due", BLUE, [step.asked for step in found.steps]),
        ("came", GREEN, [step.in_time for step in found.steps]),
    ):
        _curve(rates, name, colour, found.levels, [n / s for n, s in zip(counts, seconds, strict=True)])
    name_lines(rates)
    figures = [step.figures["all"] for step in run.steps]
    latencies = plot("response latency by the step", "ms", 220, about="step")
    latencies.y_range.start = 0
    for name, colour, values in (
        ("p50", BLUE, [of_step.p50_ns for of_step in figures]),
        ("p99", RED, [of_step.p99_ns for of_step in figures]),
    ):
        known = [float("nan") if ns is None else ns / 1e6 for ns in values]
        _curve(latencies, name, colour, found.levels, known)
    name_lines(latencies)
    return row(rates, latencies, sizing_mode="stretch_width")


def _curve(made: Any, name: str, colour: str, levels: Sequence[float], values: Sequence[float]) -> None:
    source = ColumnDataSource({"x": list(levels), "y": list(values)})
    looks = {"name": name, "legend_label": name, "line_color": colour}
    made.line("x", "y", source=source, line_width=1.5, **looks)
    dots = made.scatter("x", "y", source=source, size=6, fill_color=colour, **looks)
    hover(made, [("", "$name"), ("", "@y{0,0.[000]}"), ("step", "@x")], renderers=[dots])
