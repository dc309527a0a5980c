"""HTML of what is known: whatever a text holds, it stands in the page as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple, TypeAlias

from collectors.contract.untrusted_text import shown


class With(NamedTuple):
    """A cell with a smaller text below, and a class for its colour."""

    text: str
    below: str = ""
    kind: str = ""


Cell: TypeAlias = str | With


def table(names: Sequence[str], rows: Iterable[Sequence[Cell]], kind: str = "") -> str:
    """Return a table, the first cell of each row as its head."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = [
        f"<tr>{_cell(row[0], 'th', ' scope=row')}{''.join(_cell(cell, 'td') for cell in row[1:])}</tr>"
        for row in rows
    ]
    return (
        f'<div class="wide"><table class="{escape(kind)}"><thead><tr>{head}</tr></thead><tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _cell(cell: Cell, tag: str, more: str = "") -> str:
    found = With(cell) if isinstance(cell, str) else cell
    kind = f' class="{escape(found.kind)}"' if found.kind else ""
    below = f"<small>{escape(found.below)}</small>" if found.below else ""
    return f"<{tag}{more}{kind}>{escape(found.text)}{below}</{tag}>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{escape(kind)}">{escape(text)}</p>' if text else ""


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with what is said of each."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(said)}</dd></div>" for name, said in pairs)
    return f"<dl>{rows}</dl>"


def items(texts: Iterable[str], kind: str = "") -> str:
    rows = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="{escape(kind)}">{rows}</ul>' if rows else ""


def section(title: str, *parts: str) -> str:
    """Return a section with what there is of it, or nothing."""
    body = "\n".join(filter(None, parts))
    return f"<section><h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def block(text: str) -> str:
    """Return lines as they are, such as a file."""
    lines = "\n".join(shown(line) for line in text.replace("\t", "    ").splitlines())
    return f"<pre>{escape(lines)}</pre>"
