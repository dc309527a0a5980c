"""A comparison in words: cells of its table, and as text of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

from dashboards.report.figure_words import COLUMNS, cells
from dashboards.terminal.cells import left, right, wrapped
from deploy.compare.judged import Comparison

WIDTH: Final = 80


def text(found: Comparison) -> str:
    """Return the answer, the table of each combination of levels, and what to know of them."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield from _wrapped(found.why)
    for each in found.judged:
        yield ""
        if each.name:
            yield from _wrapped(f"{each.name}: {each.verdict.word}")
        rows = [COLUMNS, *(cells(figure) for figure in each.verdict.figures)]
        widths = [max(cell_len(row[place]) for row in rows) for place in range(len(COLUMNS))]
        for row in rows:
            first, *others, last = row
            middle = " ".join(right(cell, width) for cell, width in zip(others, widths[1:-1], strict=True))
            yield f"{left(first, widths[0])} {middle} {last}".rstrip()
    yield ""
    for name, side in (("A", found.a), ("B", found.b)):
        runs = len(side.results.runs)
        said = f"{side.name}: {runs} run{'s' * (runs != 1)}" + (f", {side.programs}" if side.programs else "")
        yield from _wrapped(said, f"{name}  ", "   ")
    for remark in found.remarks:
        yield from _wrapped(remark, "note: ", "      ")


def _wrapped(said: str, first: str = "", rest: str = "") -> list[str]:
    return wrapped(said, WIDTH, first, rest)
