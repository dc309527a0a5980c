"""Status as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from collectors.contract.untrusted_text import shown
from deploy.status.model import Json, Status

ROWS: Final = 20  # of links and queues: the worst are on top


def screen(found: Status, rows: int = ROWS) -> RenderableType:
    """Return the findings, then tables of all that was found."""
    parts: list[RenderableType] = [_findings(found)]
    if found.routers:
        parts.append(_routers(found))
    if found.links:
        parts.append(_links(found, rows))
    if found.brokers:
        parts.append(_brokers(found))
    if found.broker_links:
        parts.append(_broker_links(found, rows))
    if found.queues:
        parts.append(_queues(found, rows))
    return Group(*parts)


def _findings(found: Status) -> RenderableType:
    if not found.findings:
        return Text("nothing is wrong, as far as routers and brokers tell", style="green")
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    for finding in found.findings:
        style = "bold red" if finding.level == "bad" else "yellow"
        table.add_row(
            Text("!!" if finding.level == "bad" else "!", style=style),
            _text(finding.where),
            _text(finding.text),
        )
    return table


def _routers(found: Status) -> Table:
    table = _table("router state mode version uptime conns links in/s out/s waiting unsettled")
    for r in found.routers:
        table.add_row(
            _text(r["router"]),
            _state(r),
            _text(r["mode"] or ""),
            _text(r["version"] or ""),
            _age(r["uptime_seconds"]),
            *_numbers(
                r, "connections", "links", "in_per_second", "out_per_second", "undelivered", "unsettled"
            ),
        )
    return table


def _state(router: Json) -> Text:
    if not router["up"]:
        return Text("down", style="bold red")
    return Text("cut off", style="yellow") if router["cut_off_from"] else Text("up", style="green")


def _links(found: Status, rows: int) -> Table:
    table = _table("router link links msg/s waiting unsettled credit dropped refused")
    for k in found.links[:rows]:
        table.add_row(
            _text(k["router"]),
            _text(" ".join(part for part in (k["direction"], k["peer"], k["address"]) if part)),
            *_numbers(k, "links", "per_second", "undelivered", "unsettled", "credit", "dropped", "refused"),
        )
    _rest(table, len(found.links) - rows)
    return table


def _brokers(found: Status) -> Table:
    table = _table("broker state version uptime conns memory disk heap fds")
    for b in found.brokers:
        if not b["up"]:
            table.add_row(_text(b["broker"]), Text("down", style="bold red"))
            continue
        shares = ("memory_for_messages", "disk", "heap", "file_descriptors")
        table.add_row(
            _text(b["broker"]),
            Text("up", style="green"),
            _text(f"{b['product']} {b['version']}"),
            _age(b["uptime_seconds"]),
            *_numbers(b, "connections"),
            *("" if b[share] is None else f"{b[share]:.0%}" for share in shares),
        )
    return table


def _broker_links(found: Status, rows: int) -> Table:
    table = _table("link broker kind to state waiting delivering acked/s")
    for k in found.broker_links[:rows]:
        good = {True: "green", False: "bold red", None: ""}[k["up"]]
        table.add_row(
            *(_text(k[name]) for name in ("link", "broker", "kind", "to")),
            Text(k["state"], style=good),
            *_numbers(k, "messages", "delivering", "acknowledged_per_second"),
        )
    _rest(table, len(found.broker_links) - rows)
    return table


def _queues(found: Status, rows: int) -> Table:
    table = _table("queue broker messages consumers delivering added/s acked/s expired killed")
    for q in found.queues[:rows]:
        table.add_row(
            _text(q["queue"]),
            _text(q["broker"]),
            *_numbers(
                q,
                "messages",
                "consumers",
                "delivering",
                "added_per_second",
                "acknowledged_per_second",
                "expired",
                "killed",
            ),
        )
    _rest(table, len(found.queues) - rows)
    return table


_TEXTS: Final = frozenset({"router", "state", "mode", "version", "link", "broker", "queue", "kind", "to"})


def _table(columns: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", caption_justify="left")
    for column in columns.split():
        # Where it is narrow names give way, figures never.
        if column in _TEXTS:
            table.add_column(column, overflow="ellipsis")
        else:
            table.add_column(column, justify="right", no_wrap=True, min_width=len(column))
    return table


def _rest(table: Table, left_out: int) -> None:
    if left_out > 0:
        table.caption = f"… {left_out} more; --rows shows them"


def _numbers(row: Json, *names: str) -> Sequence[str]:
    return [_number(row[name]) for name in names]


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) and value else f"{int(value):,}"


def _age(seconds: int | None) -> str:
    if seconds is None:
        return ""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _text(text: str) -> Text:
    """Return a name from outside as text that cannot steer the terminal."""
    return Text(shown(text), no_wrap=True, overflow="ellipsis")
