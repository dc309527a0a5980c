"""A trace as a table for a terminal of 80 columns."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from collectors.contract.untrusted_text import shown
from deploy.trace import result
from deploy.trace.result import Row
from deploy.trace.tracer import Trace

_FEW: Final = 100  # per cent and milliseconds of three digits need no decimals
_UNITS: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))
_NOTHING: Final = "–"
_LEGEND: Final = (
    "Round trips in ms: each holds the queues of both ways and the cores of all",
    "routers between; a step may be negative, a missing answer names no direction.",
)
_LINK: Final = "link: waiting/credit from the router before"
_RECEIVERS: Final = "; receivers: links, waiting/credit."


def screen(trace: Trace, url: str, now_ns: int, *, ended: str | None = None) -> RenderableType:
    """Return the heading, the table, what is wrong, and what the figures hold."""
    found = result.rows(trace, now_ns)
    parts: list[RenderableType] = [Text(_heading(trace, url), style="bold")]
    if found and not trace.nobody:
        parts.append(_table(trace, found))
        more = "." if trace.plan.address is None else _RECEIVERS
        parts += [Text(line, style="dim") for line in (*_LEGEND, _LINK + more)]
    parts += [Text(shown(text)) for text in result.remarks(trace, found)]
    wrong = ([ended] if ended else []) + result.findings(trace, found)
    parts += [Text(shown(text), style="bold red") for text in wrong]
    return Group(*parts)


def _heading(trace: Trace, url: str) -> str:
    plan = trace.plan
    what = "all routers" if plan.address is None else plan.address
    spread = result.distribution(trace)
    if spread:
        what += f" ({spread})"
    if trace.began_ns is None:
        return shown(f"{url}  {what}: looking for the way")
    if trace.nobody:
        return shown(f"{url}  {what}")
    return shown(f"{url}  {what}: round {trace.rounds} of {plan.rounds}")


def _table(trace: Trace, found: list[Row]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("router", overflow="ellipsis", min_width=8)  # of all columns this one gives way
    table.add_column("role", no_wrap=True)
    for name in ("miss%", "best", "median", "p99", "step"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    table.add_column("link", justify="right", no_wrap=True)
    if trace.plan.address is not None:
        table.add_column("receivers", justify="right", no_wrap=True)
    for row in found:
        cells = [
            Text(shown(row["branch"] + row["router"]), no_wrap=True, overflow="ellipsis"),
            Text(row["role"], style="dim" if row["role"] in {"left", "equal"} else ""),
            _missing(row),
            *(Text(milliseconds(row[name])) for name in ("best_ns", "median_ns", "p99_ns", "step_ns")),
            Text(_waiting(row["link"])),
        ]
        if trace.plan.address is not None:
            cells.append(Text(_receivers(row)))
        table.add_row(*cells)
    return table


def _missing(row: Row) -> Text:
    missing = row["missing_percent"]
    if missing is None:
        return Text(_NOTHING)
    text = f"{missing:.0f}" if missing >= _FEW or missing == 0 else f"{missing:.1f}"
    return Text(text, style="" if missing == 0 else "bold red" if row["silent"] else "yellow")


def milliseconds(ns: int | None) -> str:
    """Return the time in ms, in six characters at the most up to a quarter of an hour."""
    if ns is None:
        return _NOTHING
    ms = ns / 1e6
    for digits in (2, 1, 0):
        if abs(round(ms, digits)) < 10 ** (4 - digits):
            return f"{ms:.{digits}f}"
    return f"{ms:.0f}"


def count(number: int) -> str:
    """Return the number, shortened from ten thousand on."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number // (1_000 if unit == 'k' else size)}{unit}"
    return str(number)


def _waiting(link: Row | None) -> str:
    if link is None:
        return ""
    credit = _NOTHING if link["credit"] is None else count(link["credit"])
    return f"{count(link['messages'])}/{credit}"


def _receivers(row: Row) -> str:
    found = row["receivers"]
    if found is None or not found["links"]:
        return ""
    return f"{count(found['links'])}: {_waiting(found)}"
