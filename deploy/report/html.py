"""The report as one HTML file: no network, no script, light and dark, printable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Final

from collectors.contract.untrusted_text import shown
from deploy.report import words
from deploy.report.choose import clock, name_of
from deploy.report.model import Report
from deploy.report.picture import picture

# It may be sent on and opened anywhere: whatever a name holds, it can load and run nothing.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_TABLE_PATHS: Final = 1_000


def html(report: Report) -> str:
    """Return the whole page."""
    style = resources.files("deploy.report").joinpath("report.css").read_text(encoding="utf-8")
    title = f"{name_of(report.event)}, {clock(report.event.at_ns)} UTC"
    body = "\n".join(
        [
            f'<p class="kind">{escape(report.event.kind)} · {clock(report.event.at_ns)} UTC</p>',
            f"<h1>{escape(words.answer(report))}</h1>",
            f"<figure>{picture(report)}</figure>",
            _facts(words.facts(report)),
            "<h2>All paths together</h2>",
            _totals(report),
            "<h2>Path by path</h2>",
            _table(words.PATH_COLUMNS, list(map(words.path_cells, report.paths[:_TABLE_PATHS])), "paths"),
            _more(len(report.paths) - _TABLE_PATHS),
            _ways(report),
            _remarks(words.remarks(report)),
            f'<p class="legend">{escape(words.LEGEND)} Times are UTC.</p>',
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Inflight: {escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(said)}</dd></div>" for name, said in facts)
    return f"<dl>{rows}</dl>"


def _totals(report: Report) -> str:
    columns = [words.column(each) for each in (report.total_before, report.total_during, report.total_after)]
    return _table(("", "before", "during", "after"), list(zip(words.ROWS, *columns, strict=True)))


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = [
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _more(hidden: int) -> str:
    return f"<p>… and {hidden} more, touched less: --json has all.</p>" if hidden > 0 else ""


def _ways(report: Report) -> str:
    parts = [
        _table(
            (path, "before", "during"),
            [
                (shown(route), f"{before.get(route, 0):,}", f"{during.get(route, 0):,}")
                for route in sorted({*before, *during})
            ],
        )
        for path, before, during in words.rerouted(report)
    ]
    return "\n".join(["<h2>Other ways taken</h2>", *parts]) if parts else ""


def _remarks(remarks: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f'<h2>To know when reading</h2><ul class="remarks">{items}</ul>' if items else ""
