"""The report as text of 80 columns, the answer first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.cells import cell_len

from collectors.contract.untrusted_text import shown
from dashboards.terminal.cells import left, right, wrapped
from deploy.report import words
from deploy.report.model import Report

WIDTH: Final = 80
_ROUTES: Final = 4  # of a path
_PATHS: Final = 40


def text(report: Report) -> str:
    """Return the whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from _wrapped(words.answer(report))
    yield ""
    for name, said in words.facts(report):
        yield from _wrapped(said, f"{name:<12}", " " * 12)
    yield ""
    columns = [words.column(each) for each in (report.total_before, report.total_during, report.total_after)]
    yield f"{'':<20}{'before':>12}{'during':>12}{'after':>12}"
    for name, *cells in zip(words.ROWS, *columns, strict=True):
        yield f"{name:<20}" + "".join(f"{cell:>12}" for cell in cells)
    yield ""
    yield from _paths([words.path_cells(price) for price in report.paths])
    yield from _routes(report)
    remarks = list(words.remarks(report))
    if remarks:
        yield ""
    for remark in remarks:
        yield from _wrapped(remark, "note: ", "      ")
    yield ""
    yield from _wrapped(words.LEGEND)


def _paths(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the table of paths; what does not fit into a line goes on below it."""
    kept = rows[:_PATHS]
    table = [words.PATH_COLUMNS, *kept]
    widths = [max(cell_len(row[place]) for row in table) for place in range(1, len(words.PATH_COLUMNS) - 1)]
    last = max((cell_len(row[-1]) for row in table), default=0)
    rest = sum(widths) + len(widths) + 2 + min(last, 20)
    first = max(10, min(max(cell_len(row[0]) for row in table), WIDTH - rest))
    for row in table:
        cells = " ".join(right(cell, width) for cell, width in zip(row[1:-1], widths, strict=True))
        line = f"{left(row[0], first)} {cells} "
        yield from _wrapped(row[-1], line, " " * cell_len(line))
    if len(rows) > len(kept):
        yield f"… and {len(rows) - len(kept)} more, touched less: --json or --html have all"


def _routes(report: Report) -> Iterator[str]:
    for path, before, during in words.rerouted(report):
        yield ""
        yield from _wrapped(f"ways of {path}")
        yield from _ways("before", before)
        yield from _ways("during", during)


def _ways(name: str, routes: Mapping[str, int]) -> Iterator[str]:
    listed = sorted(routes.items(), key=lambda item: -item[1])
    for number, (route, count) in enumerate(listed[:_ROUTES]):
        first = f"  {name if not number else '':<10}{count:>8,}  "
        yield from _wrapped(shown(route), first, " " * len(first))
    if not listed:
        yield f"  {name:<10}{'none known':>10}"
    if len(listed) > _ROUTES:
        yield f"{'':<12}{len(listed) - _ROUTES} more"


def _wrapped(said: str, first: str = "", rest: str = "") -> list[str]:
    return wrapped(said, WIDTH, first, rest)
