"""Tables of an experiment: its cells, every run, the paths of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from collectors.contract.untrusted_text import shown
from dashboards.report import demands, markup
from dashboards.report.cells import COLUMNS, P50, P99, Cell, last_word, spread, written
from dashboards.report.markup import With
from dashboards.report.model import Figures, Run
from streaming.wording import UNKNOWN, rate, share, size

MOST_ROWS: Final = 1_000
_MOST_PARTS: Final = 6
_COUNTS: Final = ("sent", "received", "refused", "lost", "unobserved", "unsent")


def by_cell(found: Sequence[Cell]) -> str:
    """Return the median of each cell's repetitions, and their spread below it."""
    asked = any(run.held for cell in found for run in cell.runs)
    names = ["levels", "runs", *(["held"] if asked else []), *(column.name for column in COLUMNS)]
    rows: list[list[markup.Cell]] = [
        [
            cell.name or "all runs",
            f"{len(cell.runs)}",
            *([_demands(cell.runs)] if asked else []),
            *(_spread(cell, place) for place in range(len(COLUMNS))),
        ]
        for cell in found[:MOST_ROWS]
    ]
    return markup.table(names, rows) + _more(len(found))


def memory(found: Sequence[Cell]) -> str:
    """Return what routers and brokers took at the most, the median of each cell's repetitions."""
    parts = _parts([run for cell in found for run in cell.runs])
    rows = [[cell.name or "all runs", *(_memory(cell, part) for part in parts)] for cell in found[:MOST_ROWS]]
    return markup.table(["memory", *parts], rows) if parts else ""


def _spread(cell: Cell, place: int) -> With:
    column = COLUMNS[place]
    found = cell.spread(column)
    if found is None:
        return With(UNKNOWN)
    several = len(cell.runs) > 1 and found.least != found.most
    return With(
        column.written(found.median),
        f"{column.written(found.least)} – {column.written(found.most)}" if several else "",
        "bad" if column.name == "lost" and found.most else "",
    )


def _parts(runs: Sequence[Run]) -> list[str]:
    """Return the routers and brokers whose memory has a column: those that took most."""
    most: dict[str, int] = {}
    for run in runs:
        for part, memory in run.memory.items():
            most[part] = max(most.get(part, 0), memory.get("resident_bytes_max") or 0)
    return sorted(sorted(most, key=lambda part: -most[part])[:_MOST_PARTS])


def _memory(cell: Cell, part: str) -> str:
    found = spread([run.memory.get(part, {}).get("resident_bytes_max") for run in cell.runs])
    return size(None if found is None else found.median)


def _demands(runs: Sequence[Run]) -> With:
    held = [demand.held for run in runs for demand in run.held]
    if not held:
        return With(UNKNOWN)
    return With(f"{held.count(True)} of {len(held)}", kind="good" if all(held) else "bad")


def every_run(runs: Sequence[Run], factors: Sequence[str]) -> str:
    """Return a row for each run, in the order in which they were done."""
    names = [
        "run",
        "repetition",
        *map(last_word, factors),
        "asked",
        "rate",
        *_COUNTS,
        "p50",
        "p99",
        "max",
        "remarks",
    ]
    rows = [
        [
            f"{run.number}",
            f"{run.repetition + 1}",
            *(written(run.levels.get(factor)) for factor in factors),
            *_figures(run.all),
            _remarks(run),
        ]
        for run in runs[:MOST_ROWS]
    ]
    return markup.table(names, rows, "words") + _more(len(runs))


def _figures(figures: Figures | None) -> list[markup.Cell]:
    if figures is None:
        return [UNKNOWN] * (len(_COUNTS) + 5)
    asked = "unbounded" if figures.asked_per_second is None else rate(figures.asked_per_second)
    return [
        asked,
        rate(figures.rate_per_second),
        *(
            With(f"{getattr(figures, name):,}", kind="bad" if name == "lost" and figures.lost else "")
            for name in _COUNTS
        ),
        *(column.written(column.value(figures)) for column in (P50, P99, COLUMNS[-1])),
    ]


def _remarks(run: Run) -> With:
    said = [*_said(run)]
    return With("; ".join(said), kind="bad" if said else "")


def _said(run: Run) -> Iterator[str]:
    if run.at_ceiling:
        yield "at the generator's ceiling"
    if run.stopped:
        yield f"stopped: {shown(run.stopped)}"
    for demand in run.held:
        if not demand.held:
            was = demands.was(demand)
            yield f"{shown(demand.must)} did not hold" + (f": {was}" if was else "")


def paths(run: Run) -> str:
    """Return a row for each path of a run, or nothing where there is only one."""
    known = {name: figures for name, figures in run.figures.items() if name != "all"}
    if len(known) < 2:  # noqa: PLR2004 -- one is what all are
        return ""
    rows = [
        [
            shown(name),
            rate(figures.rate_per_second),
            *(f"{getattr(figures, count):,}" for count in _COUNTS),
            share(figures.lost_share),
            *(column.written(column.value(figures)) for column in (P50, P99, COLUMNS[-1])),
        ]
        for name, figures in sorted(known.items())[:50]
    ]
    names = ["path", "rate", *_COUNTS, "share lost", "p50", "p99", "max"]
    hidden = len(known) - len(rows)
    return markup.table(names, rows) + (
        markup.paragraph(f"… and {hidden} paths more: summary.json has all.") if hidden else ""
    )


def steps(run: Run) -> str:
    """Return a row for each value of a setting that changed while the run went on."""
    rows: list[list[markup.Cell]] = [
        [
            written(step.value),
            f"{(step.from_ns - run.began_ns) / 1e9:.0f} s",
            *_figures(step.figures.get("all")),
        ]
        for step in run.steps
    ]
    names = ["step", "from", "asked", "rate", *_COUNTS, "p50", "p99", "max"]
    return markup.table(names, rows) if rows else ""


def trials(run: Run) -> str:
    """Return a row for each trial of a search, in the order of time."""
    if run.search is None:
        return ""
    kinds = {"passed": "good", "failed": "bad"}
    rows: list[list[markup.Cell]] = [
        [
            rate(one.rate_per_second),
            With(shown(one.word), kind=kinds.get(one.word, "unsure")),
            rate(one.figures.rate_per_second if one.figures else None),
            share(one.figures.lost_share if one.figures else None),
            P99.written(one.figures.p99_ns if one.figures else None),
            shown(one.why),
        ]
        for one in run.search.trials
    ]
    names = ("asked of a path", "trial", "got in all", "lost", "p99", "why")
    return markup.paragraph(shown(run.search.interval.says)) + markup.table(names, rows, "words")


def actions(run: Run) -> str:
    """Return what was done to the network in a run."""
    rows = [
        [
            shown(action.name),
            shown(action.what),
            f"{(action.began_ns - run.began_ns) / 1e9:.1f} s",
            UNKNOWN if action.ended_ns is None else f"{(action.ended_ns - action.began_ns) / 1e9:.1f} s",
            With(shown(action.problem), kind="bad") if action.problem else "",
        ]
        for action in run.actions[:50]
    ]
    return markup.table(("action", "what", "begun after", "for", "problem"), rows, "words") if rows else ""


def _more(count: int) -> str:
    hidden = count - MOST_ROWS
    return markup.paragraph(f"… and {hidden:,} more: summary.json has all.") if hidden > 0 else ""
