"""A comparison as Markdown for a pull request: whatever a name holds, it stands there as a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from collectors.contract.untrusted_text import shown
from dashboards.report.figure_words import COLUMNS, cells
from deploy.compare.judged import Comparison

_LEFT, _RIGHT = "---", "---:"
# What would become a link, a mention, a tag or a table of its own.
_ESCAPED: Final = str.maketrans(
    {letter: f"\\{letter}" for letter in "\\`*_[]|#~"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "@\N{ZERO WIDTH NON-JOINER}"}
)


def markdown(found: Comparison) -> str:
    """Return the answer, a table, and the rest folded away."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    word, _, rest = found.why.partition(": ")
    yield f"**{_text(word.capitalize())}**: {_text(rest)}"
    for each in found.judged:
        yield ""
        if each.name:
            yield f"With {_text(each.name)}: **{each.verdict.word}**"
            yield ""
        yield from _table(COLUMNS, [cells(figure) for figure in each.verdict.figures])
    yield ""
    yield "<details><summary>What was compared</summary>"
    yield ""
    rows = [
        (name, side.name, f"{len(side.results.runs)}", side.programs)
        for name, side in (("A", found.a), ("B", found.b))
    ]
    yield from _table(("side", "results", "runs", "versions"), rows)
    yield ""
    for remark in found.remarks:
        yield f"* {_text(remark)}"
    yield from ("", "</details>")


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(names)
    yield _row([_LEFT, *[_RIGHT] * (len(names) - 2), _LEFT])
    for row in rows:
        yield _row(list(map(_text, row)))


def _row(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def _text(text: str) -> str:
    return shown(text).translate(_ESCAPED)
