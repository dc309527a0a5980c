"""The factorial table: what each factor changes, and the plots that tell whether to believe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from bokeh.layouts import row
from bokeh.models import ColumnDataSource, Span

from dashboards.report import markup
from dashboards.report.cells import P50, P99, RATE, Column, last_word, written
from dashboards.report.markup import With
from dashboards.report.model import Results
from dashboards.report.page import Page
from dashboards.report.style import BLUE, GREY, ORANGE, RED, hover, plain, plot
from streaming.analysis.design import DesignError, coded
from streaming.analysis.factorial import Effect, Effects, analyse

_MOST_EFFECTS: Final = 63
_NAMED: Final = 3  # in the answer
_MEAN: Final = Column("mean", lambda figures: figures.mean_ns, P50.written)
# Figure, its unit in the table, how many of it are one of them.
_ANALYSED: Final = ((_MEAN, "ms", 1e6), (P99, "ms", 1e6), (RATE, "msg/s", 1.0))
_LEGEND: Final = (
    "A coefficient is half of what a figure changes from a factor's first level to its second; its interval"
    " holds the true one with 95 % confidence. An interval that holds 0 is within noise: it explains nothing."
    " The share is of all variation between runs. Residuals should lie about 0 with no pattern: a funnel or a"
    " slope says that the model does not fit, and that ratios would be better told than differences."
)
_ONE: Final = (
    "With one repetition nothing tells the noise, so there are no intervals. In the half-normal plot effects"
    " that are noise lie on a line through 0; those far above it may be real. Repeat the experiment to know."
)


class Table(NamedTuple):
    """The effects on one figure."""

    column: Column
    unit: str
    found: Effects


def analysed(results: Results) -> tuple[list[Table], str]:
    """Return the effects on each figure, or why there are none where that is worth a word."""
    factors = results.factors
    if not factors or any(len(levels) != 2 for levels in factors.values()):  # noqa: PLR2004 -- a 2^k design
        return [], ""
    runs = results.runs
    found = []
    try:
        levels = coded([run.levels for run in runs], factors)
        for column, unit, divisor in _ANALYSED:
            values = [None if run.all is None else column.value(run.all) for run in runs]
            known = [value / divisor for value in values if value is not None]
            if len(known) == len(values) and len(set(known)) > 1:
                found.append(Table(column, unit, analyse(levels, known, [run.repetition for run in runs])))
    except DesignError as error:
        return [], f"There is no table of effects: {error}."
    return found, ""


def answer(tables: Sequence[Table]) -> Iterator[str]:
    """Yield what explains the response time, in words."""
    if not tables:
        return
    found = tables[0].found
    ordered = sorted(found.effects, key=lambda effect: -effect.share)
    clear = [f"{_name(effect)} ({effect.share:.0%})" for effect in ordered if effect.significant]
    noise = [_name(effect) for effect in ordered if effect.significant is False]
    if found.repetitions == 1:
        yield f"{_name(ordered[0])} goes with most of the variation, but one repetition does not tell noise"
    elif clear:
        yield f"{_few(clear)} explain{'s' * (len(clear) == 1)} the variation of the mean response time"
        if noise:
            yield f"{_few(noise)} {'is' if len(noise) == 1 else 'are'} within noise"
    else:
        yield "no factor's effect on the response time can be told from noise"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    kept = [*names[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    return " and ".join(filter(None, (", ".join(kept[:-1]), kept[-1])))


def section(page: Page, results: Results) -> str:
    """Return the section, or nothing where the plan is no design of two levels each."""
    tables, why_not = analysed(results)
    if not tables:
        return markup.section("What the factors change", markup.paragraph(why_not))
    legend = _ONE if tables[0].found.repetitions == 1 else _LEGEND
    return markup.section(
        "What the factors change",
        markup.paragraph(
            "; ".join(
                f"{last_word(name)}: {written(low)}, then {written(high)}"
                for name, (low, high) in results.factors.items()
            )
        ),
        *(_of_figure(page, table) for table in tables),
        markup.paragraph(legend, "legend"),
    )


def _of_figure(page: Page, table: Table) -> str:
    found = table.found
    mean = f"Mean of all runs: {found.mean:.4g} {table.unit}. Degrees of freedom: {found.degrees_of_freedom}."
    ordered = sorted(found.effects, key=lambda effect: -effect.share)[:_MOST_EFFECTS]
    names = ("effect", f"coefficient, {table.unit}", "95 % interval", "share of variation", "")
    rest = [("between repetitions", "", "", f"{found.share_blocks:.1%}", "")] if found.repetitions > 1 else []
    rest += [("errors", "", "", f"{found.share_errors:.1%}", "")] if found.repetitions > 1 else []
    rows: list[Sequence[markup.Cell]] = [*(_row(effect) for effect in ordered), *rest]
    return (
        f"<h3>{markup.text(table.column.name)}</h3>\n{markup.paragraph(mean)}"
        f"{markup.table(names, rows, 'words')}{page.plot(_plots(table))}"
    )


def _row(effect: Effect) -> Sequence[markup.Cell]:
    interval = "–" if effect.low is None else f"{effect.low:+.3g} to {effect.high:+.3g}"
    said = {
        True: With("explains", kind="good"),
        False: With("within noise", kind="unsure"),
        None: With("not known"),
    }
    return (
        _name(effect),
        f"{effect.coefficient:+.4g}",
        interval,
        f"{effect.share:.1%}",
        said[effect.significant],
    )


def _name(effect: Effect) -> str:
    return " × ".join(map(last_word, effect.factors))


def _plots(table: Table) -> Any:
    plots = [_residuals(table)] if table.found.repetitions > 1 else []
    if len(table.found.effects) > 1:  # one point is no line
        plots.append(_half_normal(table))
    return row(*plots, sizing_mode="stretch_width") if plots else None


def _residuals(table: Table) -> Any:
    found = table.found
    made = plot("residuals", table.unit, 240, about=f"predicted, {table.unit}")
    made.add_layout(Span(location=0, dimension="width", line_color=GREY, line_width=1))
    made.scatter(
        list(found.predicted),
        list(found.residuals),
        size=7,
        fill_color=BLUE,
        fill_alpha=0.55,
        line_color=BLUE,
    )
    hover(made, [("residual", "@y{0.[000]}"), ("predicted", "@x{0.[000]}")])
    return made


def _half_normal(table: Table) -> Any:
    points = table.found.half_normal()
    significant = {effect.name: effect.significant for effect in table.found.effects}
    name = {effect.name: _name(effect) for effect in table.found.effects}
    made = plot(
        "half-normal plot of effects", f"|coefficient|, {table.unit}", 240, about="quantile of noise alone"
    )
    for word, chosen, marker, colour in (
        ("explains", True, "circle", RED),
        ("within noise", False, "square", BLUE),
        ("not known", None, "diamond", ORANGE),
    ):
        of_word = [point for point in points if significant[point.name] is chosen]
        if not of_word:
            continue
        source = ColumnDataSource(
            {
                "x": [point.quantile for point in of_word],
                "y": [point.size for point in of_word],
                "name": [plain(name[point.name]) for point in of_word],
            }
        )
        looks = {"size": 8, "marker": marker, "fill_color": colour, "fill_alpha": 0.55, "line_color": colour}
        dots = made.scatter("x", "y", source=source, legend_label=word, **looks)
        hover(made, [("", "@name"), ("|coefficient|", "@y{0.[000]}")], renderers=[dots])
        if chosen is not False:
            looks = {"text_align": "center", "text_font_size": "11px", "text_color": GREY}
            made.text("x", "y", "name", source=source, y_offset=-9, **looks)
    made.legend.location = "top_left"
    made.legend.label_text_color = GREY
    made.legend.background_fill_color = made.legend.border_line_color = None
    made.legend.label_text_font_size = "12px"
    made.x_range.start, made.y_range.start = 0, 0
    made.x_range.end = 1.2 * max(point.quantile for point in points)
    made.y_range.end = 1.25 * max(point.size for point in points)  # room for names
    return made
