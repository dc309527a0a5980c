"""A run over time: latency, rate, loss, queues and memory, with what was done to the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from bokeh.layouts import column
from bokeh.models import BoxAnnotation, ColumnDataSource, Label, Range1d

from dashboards.report.model import Line, Results, Run, Timeline
from dashboards.report.points import thinned
from dashboards.report.style import COLOURS, GREY, LOG_FROM, RED, hover, name_lines, plain, plot

MOST_RUNS: Final = 24
_MOST_LINES: Final = 6
_MOST_BANDS: Final = 50
_POINTS: Final = 40_000  # of all plots together
_POINTS_OF_A_LINE: Final = 600


@dataclass(frozen=True, slots=True)
class _Kind:
    title: str
    unit: str
    divisor: float
    height: int = 150
    steps: bool = False  # a value is of a whole window, and 0 beside it
    may_be_nothing: bool = False  # which is not drawn


_KINDS: Final = {
    "latency_ns": _Kind("response latency", "ms", 1e6, height=220),
    "rate_per_second": _Kind("rate", "msg/s", 1),
    "lost": _Kind("lost", "messages", 1, height=120, steps=True, may_be_nothing=True),
    "queued": _Kind("waiting in queues and on links", "messages", 1, may_be_nothing=True),
    "memory_bytes": _Kind("memory", "MB", 1e6),
}


def shown_runs(results: Results) -> list[Run]:
    """Return the runs that are drawn: the first repetition of each cell before the others."""
    known = [run for run in results.runs if any(_lines(results.timelines.get(run.number)))]
    chosen = sorted(known, key=lambda run: (run.repetition, run.number))[:MOST_RUNS]
    return sorted(chosen, key=lambda run: run.number)


def points_of_a_line(results: Results, runs: Sequence[Run]) -> int:
    """Return how many points a line may have, so that the file stays small however many there are."""
    count = sum(1 for run in runs for _ in _lines(results.timelines[run.number]))
    return min(_POINTS_OF_A_LINE, _POINTS // max(1, count))


def drawn(run: Run, timeline: Timeline, points: int) -> Any:
    """Return the plots of a run as one, which zoom and move together; None where nothing is to be drawn."""
    begin = min(float(line.seconds[0]) for line in _lines(timeline))
    end = max(float(line.seconds[-1]) for line in _lines(timeline))
    end = max(end, begin + 1)
    together = Range1d(begin, end, bounds=(begin, end))
    plots = [
        _plot(kind, getattr(timeline, name), together, points)
        for name, kind in _KINDS.items()
        if _has_something(kind, _chosen(getattr(timeline, name)))
    ]
    for number, made in enumerate(plots):
        _mark(made, run, (begin, end), named=not number)
    if not plots:
        return None
    plots[-1].xaxis.axis_label = "seconds since the run began"
    return column(*plots, sizing_mode="stretch_width")


def _has_something(kind: _Kind, lines: Sequence[Line]) -> bool:
    return any(not kind.may_be_nothing or np.nanmax(line.values) > 0 for line in lines)


def _lines(timeline: Timeline | None) -> Iterator[Line]:
    for name in _KINDS if timeline else ():
        yield from _chosen(getattr(timeline, name))


def _chosen(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that are drawn, in their order: those that reach highest."""
    known = [line for line in lines if not np.isnan(line.values).all()]
    highest = sorted(known, key=lambda line: float(np.nanmax(line.values)), reverse=True)[:_MOST_LINES]
    return [line for line in known if line in highest]


def _plot(kind: _Kind, lines: Sequence[Line], together: Range1d, points: int) -> Any:
    chosen = _chosen(lines)
    title = kind.title + (f" (the {len(chosen)} highest of {len(lines)})" if len(lines) > len(chosen) else "")
    least = min(float(np.nanmin(line.values)) for line in chosen)
    log = least > 0 and max(float(np.nanmax(line.values)) for line in chosen) > LOG_FROM * least
    made = plot(title, kind.unit, kind.height, log=log, x_range=together)
    if not log:
        made.y_range.start = 0
    found = [
        _line(made, thinned(line, points), kind, COLOURS[number % len(COLOURS)])
        for number, line in enumerate(chosen)
    ]
    hover(made, [("", "$name"), (kind.unit, "@y{0,0.[000]}"), ("at", "@x{0.0} s")], renderers=found)
    name_lines(made)
    made.legend.visible = len(found) > 1
    return made


def _line(made: Any, line: Line, kind: _Kind, colour: str) -> Any:
    # Four bytes a value: a file with all runs in it stays small.
    values = (line.values / kind.divisor).astype(np.float32)
    source = ColumnDataSource({"x": line.seconds.astype(np.float32), "y": values})
    name = plain(line.name)
    looks = {"name": name, "legend_label": name, "line_width": 1.5, "line_color": colour}
    if kind.steps:
        return made.step("x", "y", source=source, mode="after", **looks)
    return made.line("x", "y", source=source, **looks)


def _mark(made: Any, run: Run, within: tuple[float, float], *, named: bool) -> None:
    """Shade what is not of the steady phase, and what was done to the network."""
    begin, end = within

    def second(at_ns: int) -> float:
        return min(max((at_ns - run.began_ns) / 1e9, begin), end)

    for from_ns, to_ns in ((run.began_ns, run.steady_from_ns), (run.steady_to_ns, run.ended_ns)):
        if from_ns is not None and to_ns is not None and second(to_ns) > second(from_ns):
            made.add_layout(
                BoxAnnotation(
                    left=second(from_ns),
                    right=second(to_ns),
                    fill_color=GREY,
                    fill_alpha=0.14,
                    line_color=None,
                )
            )
    for action in run.actions[:_MOST_BANDS]:
        left = second(action.began_ns)
        right = max(end if action.ended_ns is None else second(action.ended_ns), left + (end - begin) / 1_000)
        made.add_layout(
            BoxAnnotation(
                left=left, right=right, fill_color=RED, fill_alpha=0.2, line_color=RED, line_alpha=0.6
            )
        )
        if named:
            made.add_layout(
                Label(
                    x=left,
                    y=2,
                    y_units="screen",
                    x_offset=3,
                    text=plain(f"{action.name} {action.what}"),
                    text_color=RED,
                    text_font_size="12px",
                )
            )
