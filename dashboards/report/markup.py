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


def text(said: str) -> str:
    """Return HTML in which the text stands as it is, without what could steer a terminal or turn a line."""
    return escape(shown(said))


def table(names: Sequence[str], rows: Iterable[Sequence[Cell]], kind: str = "") -> str:
    """Return a table, the first cell of each row as its head."""
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in names)
    lines = [
        f"<tr>{_cell(row[0], 'th', ' scope=row')}{''.join(_cell(cell, 'td') for cell in row[1:])}</tr>"
        for row in rows
    ]
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _cell(cell: Cell, tag: str, more: str = "") -> str:
    found = With(cell) if isinstance(cell, str) else cell
    kind = f' class="{found.kind}"' if found.kind else ""
    below = f"<small>{text(found.below)}</small>" if found.below else ""
    return f"<{tag}{more}{kind}>{text(found.text)}{below}</{tag}>"


def paragraph(said: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text(said)}</p>' if said else ""


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with what is said of each."""
    rows = "".join(f"<div><dt>{text(name)}</dt><dd>{text(said)}</dd></div>" for name, said in pairs)
    return f"<dl>{rows}</dl>"


def items(texts: Iterable[str], kind: str = "") -> str:
    rows = "".join(f"<li>{text(said)}</li>" for said in texts)
    return f'<ul class="{kind}">{rows}</ul>' if rows else ""


def section(title: str, *parts: str) -> str:
    """Return a section with what there is of it, or nothing."""
    body = "\n".join(filter(None, parts))
    return f"<section><h2>{text(title)}</h2>\n{body}\n</section>" if body else ""


def block(said: str) -> str:
    """Return lines as they are, such as a file."""
    lines = "\n".join(text(line) for line in said.replace("\t", "    ").splitlines())
    return f"<pre>{lines}</pre>"
