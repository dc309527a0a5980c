"""The report of an experiment: the answer, tables, plots, and how to repeat it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from collectors.contract.untrusted_text import shown
from dashboards.report import factorial, markup, over_time, pictures, ramps, tables
from dashboards.report.answer import answer, figures, remarks, took
from dashboards.report.cells import Cell, cells, written
from dashboards.report.model import Results, Run
from dashboards.report.page import Page
from streaming.wording import rate, size

_LEGEND = (
    "All figures are of the steady phase. In the plots warm-up and what follows the phase are grey, what"
    " was done to the network red. A row of levels has the median of its repetitions, below it the least and"
    " the most. lost: of those received, refused or lost. Latencies are of response, from when"
    " a message was due. Plots keep the peaks of what they leave out; the files of each run have all of it."
)


def html(results: Results) -> str:
    """Return the whole file."""
    page = Page()
    found = cells(results)
    name = shown(results.plan.plan)
    parts = [
        markup.paragraph(f"experiment · {name} · {_when(results.plan.began_ns)}", "kind"),
        markup.paragraph(f"Asked: {shown(results.plan.says)}" if results.plan.says else "", "asked"),
        f"<h1>{markup.text(answer(results))}</h1>",
        markup.paragraph(figures(results)),
        markup.facts(_facts(results)),
        markup.section("To know when reading", markup.items(remarks(results))),
        *(_sections(page, results, found) if results.runs else []),
        _repeat(results),
        markup.paragraph(_LEGEND, "legend"),
    ]
    return page.whole(f"{name}: {answer(results)}", parts)


def _sections(page: Page, results: Results, found: list[Cell]) -> Iterator[str]:
    yield markup.section(
        "By levels" if len(found) > 1 else "All runs together",
        _factors(results),
        tables.by_cell(found),
        tables.memory(found),
        page.plot(
            pictures.by_cell(found),
            "A dot is a run, a dash the median; numbers are the rows of the table above.",
        ),
    )
    yield factorial.section(page, results)
    drawn = over_time.shown_runs(results)
    points = over_time.points_of_a_line(results, drawn)
    runs = [
        _run(page, run, over_time.drawn(run, results.timelines[run.number], points), first=run is drawn[0])
        for run in drawn
    ]
    hidden = len(results.runs) - len(drawn)
    yield markup.section(
        "Runs over time",
        *runs,
        markup.paragraph(
            f"{hidden} more are not drawn: their files have all of it." if runs and hidden else ""
        ),
    )
    factors = list(dict.fromkeys(name for run in results.runs for name in run.levels))
    yield markup.section("Every run", tables.every_run(results.runs, factors))


def _run(page: Page, run: Run, drawn: Any, *, first: bool) -> str:
    levels = ", ".join(f"{shown(name)} = {written(level)}" for name, level in run.levels.items())
    title = f"run {run.number}" + (f": {levels}" if levels else "") + f" (repetition {run.repetition + 1})"
    return (
        f"<details{' open' if first else ''}><summary>{markup.text(title)}</summary>\n"
        f"{page.plot(drawn)}{tables.trials(run)}{page.plot(ramps.drawn(run))}{tables.steps(run)}{tables.actions(run)}{tables.paths(run)}</details>"
    )


def _factors(results: Results) -> str:
    named = [(shown(name), ", ".join(map(written, levels))) for name, levels in results.factors.items()]
    return markup.facts(named) if named else ""


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    planned = len(results.plan.runs)
    yield (
        "runs",
        f"{len(results.runs)} of {planned}, {took(results)} in all" if planned else f"{len(results.runs)}",
    )
    ceiling = results.plan.ceiling
    if ceiling:
        yield "the generator's ceiling", rate(ceiling.get("messages_per_second"))
        yield "the client library's, alone", rate(ceiling.get("raw_messages_per_second"))


def _repeat(results: Results) -> str:
    said = [
        _said(name, each)
        for told in (results.plan.versions, results.plan.machine)
        for name, value in told.items()
        for name, each in (value.items() if isinstance(value, dict) else [(name, value)])
        if each is not None
    ]
    return "\n".join(
        [
            markup.section(
                "Versions and machine",
                markup.table(("", ""), said, "words") if said else "",
            ),
            markup.section(
                "To repeat it",
                markup.block(results.command),
                markup.block(results.plan_text),
            ),
        ]
    )


def _said(name: str, value: object) -> tuple[str, str]:
    if name.endswith("_bytes") and isinstance(value, int | float):
        return shown(name.removesuffix("_bytes")), size(value)
    return shown(name), shown(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    )


def _when(at_ns: int) -> str:
    if not at_ns:
        return ""
    return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
