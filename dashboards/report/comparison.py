"""The report of a comparison: the verdict, its table, every repetition, and how far apart A and B are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bokeh.layouts import row
from bokeh.models import BoxAnnotation, ColumnDataSource, FactorRange, Span, Whisker

from dashboards.report import markup
from dashboards.report.cells import LOST, P50, P99, RATE, Column
from dashboards.report.figure_words import COLUMNS, cells
from dashboards.report.markup import With
from dashboards.report.model import Compared, Run
from dashboards.report.page import Page
from dashboards.report.style import BLUE, GREEN, GREY, RED, hover, name_lines, plot
from streaming.analysis.verdicts import FigureVerdict

_KINDS: Final = {"better": "good", "same": "good", "worse": "bad", "unclear": "unsure"}
_LOOKS: Final = (
    ("same", GREEN, "square"),
    ("better", BLUE, "circle"),
    ("worse", RED, "triangle"),
    ("unclear", GREY, "diamond"),
)
_LEGEND: Final = (
    "The repetition is the unit: a dot is one of them. Same: the 90 % interval of B less A lies within the"
    " margin. Worse or better: a permutation test over the repetitions, corrected for the number of figures"
    " (Holm), finds a difference, and it is not the same. Else unclear. A and B of latencies and rates are"
    " geometric means of the repetitions, differences shares of A; of loss they are means, and points (pt)."
)


def html(
    why: str,
    compared: Sequence[Compared],
    sides: Mapping[str, Sequence[tuple[str, str]]],
    remarks: Sequence[str],
) -> str:
    """Return the whole file; `sides` has what is said of A and of B."""
    page = Page()
    word, _, rest = why.partition(": ")
    kind = _KINDS.get(word, "")
    parts = [
        markup.paragraph("comparison of A and B", "kind"),
        f'<h1><span class="{kind}">{markup.text(word.capitalize())}</span>: {markup.text(rest)}.</h1>',
        *(_one(page, each) for each in compared),
        markup.section("To know when reading", markup.items(remarks)),
        markup.section(
            "What was compared",
            *(f"<h3>{markup.text(name)}</h3>{markup.facts(facts)}" for name, facts in sides.items()),
        ),
        markup.paragraph(_LEGEND, "legend"),
    ]
    return page.whole(why, parts)


def _one(page: Page, each: Compared) -> str:
    rows: list[Sequence[markup.Cell]] = []
    for figure in each.verdict.figures:
        *told, word = cells(figure)
        rows.append((*told, With(word, kind=_KINDS[word])))
    return markup.section(
        each.name or "Figures",
        markup.paragraph(each.verdict.why) if each.name else "",
        markup.table(COLUMNS, rows, "words"),
        page.plot(
            _distances(each.verdict.figures),
            "How far B is from A, with its 90 % interval, in margins: within the band is the same.",
        ),
        page.plot(_repetitions(each), "Each repetition, in the order of time."),
    )


def _distances(figures: Sequence[FigureVerdict]) -> Any:
    known = [f for f in figures if None not in (f.difference, f.low, f.high) and f.margin]
    if not known:
        return None
    names = [figure.name for figure in known]
    made = plot("B less A, in margins", "", 90 + 40 * len(known), y_range=FactorRange(*reversed(names)))
    made.add_layout(BoxAnnotation(left=-1, right=1, fill_color=GREEN, fill_alpha=0.15, line_color=None))
    made.add_layout(Span(location=0, dimension="height", line_color=GREY))
    for word, colour, marker in _LOOKS:
        of_word = [figure for figure in known if figure.word == word]
        if not of_word:
            continue
        source = ColumnDataSource(
            {
                "y": [figure.name for figure in of_word],
                **{
                    column: [(getattr(figure, name) or 0) / (figure.margin or 1) for figure in of_word]
                    for column, name in (("x", "difference"), ("low", "low"), ("high", "high"))
                },
            }
        )
        whisker = Whisker(base="y", lower="low", upper="high", source=source, dimension="width")
        whisker.line_color, whisker.line_width, whisker.level = colour, 2, "overlay"
        whisker.lower_head.line_color = whisker.upper_head.line_color = colour
        made.add_layout(whisker)
        dots = made.scatter("x", "y", source=source, size=10, marker=marker, color=colour, legend_label=word)
        hover(made, [("", "@y"), ("margins", "@x{0.00} (@low{0.00} to @high{0.00})")], renderers=[dots])
    ends = [abs(value or 0) / (figure.margin or 1) for figure in known for value in (figure.low, figure.high)]
    made.x_range.start, made.x_range.end = -max(1.3, *ends) * 1.05, max(1.3, *ends) * 1.05
    name_lines(made)
    return made


def _repetitions(each: Compared) -> Any:
    plots = [
        made
        for column, unit, divisor in (
            (P50, "ms", 1e6),
            (P99, "ms", 1e6),
            (RATE, "msg/s", 1),
            (LOST, "%", 0.01),
        )
        if (made := _in_time(each, column, unit, divisor)) is not None
    ]
    return row(*plots, sizing_mode="stretch_width") if plots else None


def _in_time(each: Compared, column: Column, unit: str, divisor: float) -> Any:
    first_ns = min((run.began_ns for run in (*each.a, *each.b)), default=0)
    by_turns = each.verdict.interleaved

    def place(number: int, run: Run) -> float:
        return (run.began_ns - first_ns) / 60e9 if by_turns else number

    sides = {
        name: [
            (place(number, run), value / divisor, run.number)
            for number, run in enumerate(runs, 1)
            if run.all is not None and (value := column.value(run.all)) is not None
        ]
        for name, runs in (("A", each.a), ("B", each.b))
    }
    if not any(value for dots in sides.values() for _, value, _ in dots):
        return None
    made = plot(
        column.name, unit, 220, about="minutes since the first run" if by_turns else "run of its side"
    )
    made.y_range.start = 0
    for (name, dots), colour, marker in zip(sides.items(), (BLUE, RED), ("circle", "triangle"), strict=True):
        source = ColumnDataSource(
            {"x": [x for x, *_ in dots], "y": [y for _, y, _ in dots], "run": [n for *_, n in dots]}
        )
        looks = {"size": 8, "marker": marker, "fill_color": colour, "fill_alpha": 0.55, "line_color": colour}
        drawn = made.scatter("x", "y", source=source, name=name, legend_label=name, **looks)
        hover(made, [("", "$name"), (unit, "@y{0,0.[000]}"), ("run", "@run")], renderers=[drawn])
    name_lines(made)
    return made
