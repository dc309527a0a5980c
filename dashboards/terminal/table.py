"""The live table of a terminal: events, paths, and below them routers, links and queues; fits 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from collectors.contract.untrusted_text import shown
from dashboards.event_lines import event_lines, moment
from streaming import wording

Json = dict[str, Any]

# By the colours of the table of states.
STYLES: Final = {
    "red": "bold white on red",
    "orange": "bold red",
    "yellow": "yellow",
    "purple": "magenta",
    "blue": "cyan",
    "grey": "dim",
    "green": "green",
}
_UNKNOWN: Final = "–"
_FIGURES: Final = {"p50": 6, "p99": 7, "max": 7, "rate": 6, "lost": 5, "jitter": 6, "age": 5}  # least width
_WIDE: Final = 100  # columns: there is room for budgets
_WIDER: Final = 120  # for jitter beside the hop to blame
_WHERE: Final = ((140, 40), (_WIDE, 24), (0, 14))  # from so many columns on: the most for the hop to blame
_BUDGETS: Final = 2  # overspent ones that have a line of their own
# How many are shown of the network, where there is room for them.
_MOST: Final = {"routers": 8, "edges": 6, "broker_links": 6, "queues": 6}
_LEAST: Final = 2


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How the table is shown: sorting, filter, the rows that are seen, and the height of the screen."""

    sort: str = "state"
    reverse: bool = False
    filter: str = ""
    offset: int = 0
    rows: int | None = None
    height: int | None = None


def screen(state: Json, width: int, options: TableOptions | None = None) -> RenderableType:
    """Return the whole screen, as `inflight top` and `inflight demo` show it."""
    options = options or TableOptions()
    parts: list[RenderableType] = [_title(state, options), *_events(state), _paths(state, width, options)]
    parts += _overspent(state)
    if state["routers"]:
        parts.append(_routers(state, options))
    if state["edges"]:
        parts.append(_edges(state, options))
    if state.get("broker_links"):  # an exporter of before told none
        parts.append(_broker_links(state, options))
    if state["queues"]:
        parts.append(_queues(state, options))
    return Group(*parts)


def selected(state: Json, options: TableOptions) -> list[Json]:
    """Return the paths that the filter lets through, in order."""
    wanted = options.filter.lower()
    found = [path for path in state["paths"] if wanted in path["name"].lower()]
    return sorted(found, key=lambda path: (SORTS[options.sort](path), path["name"]), reverse=options.reverse)


def _title(state: Json, options: TableOptions) -> Text:
    counts = Counter(path["state"] for path in state["paths"])
    text = Text(f"Inflight at {shown(state['site'])}: {len(state['paths'])} paths", style="bold")
    for known in state["states"]:  # the worst first
        if number := counts[known["word"]]:
            text.append(f"  {number} ", style="default")
            text.append(shown(known["word"]), style=STYLES.get(known["colour"], ""))
    if options.filter:
        text.append(f"  names with “{shown(options.filter)}”", style="dim")
    if state["not_ready"]:
        text.append(f"\nnot ready: {shown(state['not_ready'])}", style="yellow")
    return text


def _events(state: Json) -> list[Text]:
    return [
        Text(shown(line), style="bold cyan" if now else "cyan", no_wrap=True, overflow="ellipsis")
        for now, line in event_lines(state)
    ]


def _overspent(state: Json) -> list[Text]:
    """Return lines for the budgets that are used up, the worst first."""
    found = [
        (slo["budget_left"], path["name"], slo)
        for path in state["paths"]
        for slo in path["slos"]
        if slo["budget_left"] is not None and slo["budget_left"] < 0
    ]
    found.sort(key=lambda one: one[:2])
    lines = []
    for left, name, slo in found[:_BUDGETS]:
        since = slo["overspent_since_seconds"]
        when = "" if since is None else moment(since, state["now_seconds"], "%H:%M")
        text = f"budget of {shown(name)}, {shown(slo['slo'])}: {wording.budget(left, when)}"
        lines.append(Text(text, style="red", no_wrap=True, overflow="ellipsis"))
    return lines


def _paths(state: Json, width: int, options: TableOptions) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), width=width, header_style="dim")
    mark = {options.sort: " ▴" if options.reverse else " ▾"}
    paths = selected(state, options)
    hops = any(path.get("where") for path in paths)
    # Where a hop is to blame it matters more than jitter does; both are there where there is room.
    figures = [name for name in _FIGURES if width >= _WIDER or not hops or name != "jitter"]
    table.add_column("path" + mark.get("path", ""), ratio=1, no_wrap=True, overflow="ellipsis", min_width=10)
    for name in figures:
        table.add_column(name + mark.get(name, ""), justify="right", min_width=_FIGURES[name], no_wrap=True)
    if width >= _WIDE:
        table.add_column("budget", justify="right", min_width=9, no_wrap=True)
    table.add_column("state" + mark.get("state", ""), min_width=7, no_wrap=True)
    if hops:
        most = next(most for least, most in _WHERE if width >= least)
        table.add_column("where", max_width=most, no_wrap=True, overflow="ellipsis")
    last = None if options.rows is None else options.offset + options.rows
    styles = {known["word"]: STYLES.get(known["colour"], "") for known in state["states"]}
    for path in paths[options.offset : last]:
        first, *values = _row(path, state["now_seconds"])
        told = dict(zip(_FIGURES, values, strict=True))
        cells = [first, *(told[figure] for figure in figures)]
        if width >= _WIDE:
            cells.append(_budget(path))
        cells.append(Text(shown(path["state"]), styles[path["state"]]))
        table.add_row(*cells, *([_where(path)] if hops else []))
    hidden = len(paths) - len(paths[options.offset : last])
    if hidden:
        table.add_row(Text(f"… and {hidden} more", style="dim"))
    return table


def _row(path: Json, now_seconds: float) -> list[Text]:
    response, lost = path["response"] or {}, path["classes"]["lost"]
    at_least = response.get("at_least", [])
    jitter = (path["window"] or {}).get("jitter") or {}
    received = path["last_received_seconds"]
    age = _UNKNOWN if received is None else wording.duration(max(0, round((now_seconds - received) * 1e9)))
    return [
        Text(shown(path["name"])),
        *(
            Text(
                ("≥" if name in at_least else "") + latency(response.get(name)),
                style="" if response else "dim",
            )
            for name in ("50", "99", "max")
        ),
        Text(_UNKNOWN if path["rate"] is None else f"{count(path['rate'])}/s"),
        Text(count(lost), style="bold red" if lost else ""),
        Text(latency(jitter.get("99", jitter.get("max")))),
        Text(age.replace(" ", "")),
    ]


def _where(path: Json) -> Text:
    """Return the hop to blame, in red while it goes on."""
    where = path.get("where")  # an exporter of before tells none
    if not where:
        return Text("")
    return Text(shown(where["hop"]) or "unknown", style="bold red" if where["now"] else "dim")


def _budget(path: Json) -> Text:
    """Return the budget of the objective that has least left."""
    left = min((slo["budget_left"] for slo in path["slos"] if slo["budget_left"] is not None), default=None)
    if left is None:
        return Text(_UNKNOWN)
    return Text(f"{count(1 - left)}× over", style="red") if left < 0 else Text(wording.budget(left))


def _routers(state: Json, options: TableOptions) -> Table:
    most = _most("routers", state, options)
    table = _small("router", "state", "waiting", "unsettled", "msg/s", "version")
    routers = sorted(state["routers"], key=lambda router: (router["up"], router["router"]))
    for router in routers[:most]:
        table.add_row(
            Text(shown(router["router"])),
            _up(router),
            Text(count(router["undelivered"])),
            Text(count(router["unsettled"])),
            Text(_rate(router["rate"])),
            Text(shown(router["version"])),
        )
    _and_more(table, len(routers) - most)
    return table


def _edges(state: Json, options: TableOptions) -> Table:
    most = _most("edges", state, options)
    table = _small("link", "state", "waiting", "unsettled", "msg/s")
    edges = sorted(state["edges"], key=lambda edge: (edge["up"], edge["id"]))
    for edge in edges[:most]:
        table.add_row(
            Text(f"{shown(edge['source'])} — {shown(edge['target'])}"),
            _up(edge),
            Text(count(edge["undelivered"])),
            Text(count(edge["unsettled"])),
            Text(_rate(edge["rate"])),
        )
    _and_more(table, len(edges) - most)
    return table


def _broker_links(state: Json, options: TableOptions) -> Table:
    most = _most("broker_links", state, options)
    table = _small("broker's link", "state", "waiting", "unacked", "msg/s")
    links = sorted(state["broker_links"], key=lambda k: (k["up"], -(k["messages"] or 0), k["link"]))
    for link in links[:most]:
        table.add_row(
            Text(f"{shown(link['broker'])} {shown(link['kind'])} {shown(link['link'])}"),
            Text("not heard of", style="magenta")
            if link["stale"]
            else Text(shown(link["state"]), style="green" if link["up"] else "bold white on red"),
            *(Text(_rate(link[name])) for name in ("messages", "delivering", "rate")),
        )
    _and_more(table, len(links) - most)
    return table


def _queues(state: Json, options: TableOptions) -> Table:
    most = _most("queues", state, options)
    table = _small("queue", "broker", "messages", "consumers", "in/s", "out/s")
    queues = sorted(state["queues"], key=lambda queue: (-queue["messages"], queue["queue"]))
    for queue in queues[:most]:
        idle = queue["messages"] and not queue["consumers"]
        table.add_row(
            Text(shown(queue["queue"])),
            Text(f"{shown(queue['broker'])}, not heard of", style="magenta")
            if queue["stale"]
            else Text(shown(queue["broker"])),
            Text(count(queue["messages"]), style="bold yellow" if idle else ""),
            Text(count(queue["consumers"])),
            *(
                Text(_UNKNOWN if queue[name] is None else count(queue[name]))
                for name in ("in_rate", "out_rate")
            ),
        )
    _and_more(table, len(queues) - most)
    return table


def _small(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index < 2 else "right", no_wrap=True)  # noqa: PLR2004 -- the names
    return table


def _up(item: Json) -> Text:
    if item["stale"]:
        return Text("not heard of", style="magenta")
    if item["up"] and item.get("reason"):
        return Text(shown(item["reason"]), style="yellow")  # cut off from another one
    return Text("up", style="green") if item["up"] else Text("DOWN", style="bold white on red")


def _rate(value: float | None) -> str:
    return _UNKNOWN if value is None else count(value)


def _and_more(table: Table, hidden: int) -> None:
    if hidden > 0:
        table.add_row(Text(f"… and {hidden} more", style="dim"))


def _most(what: str, state: Json, options: TableOptions) -> int:
    """Return how many lines of a part of the network are shown; paths come first on a small screen."""
    if options.height is None:
        return _MOST[what]
    parts = sum(bool(state.get(name)) for name in _MOST)
    least = _LEAST if parts < len(_MOST) else 1
    return max(least, min(_MOST[what], (options.height - 12) // max(parts, 3) - 2))


def around(state: Json, options: TableOptions) -> int:
    """Return how many lines events, budgets and network take above and below the paths."""
    network = 0
    for name in _MOST:
        count_, most = len(state.get(name, ())), _most(name, state, options)
        network += (1 + min(count_, most) + (count_ > most)) if count_ else 0
    return len(event_lines(state)) + len(_overspent(state)) + network


def latency(value: float | None) -> str:
    """Return a latency in three digits and a unit."""
    if value is None:
        return _UNKNOWN
    size = abs(value)
    if size < 0.001:  # noqa: PLR2004 -- a millisecond
        return f"{value * 1e6:.0f}µs"
    if size < 1:
        return f"{value * 1e3:.3g}ms" if size < 0.9995 else "1s"  # noqa: PLR2004 -- 999.5 ms is a second
    return f"{value:.3g}s"


def count(value: float) -> str:
    """Return a count in at most five characters: 950, 12.5k, 3.4M."""
    for limit, divisor, unit in ((1e4, 1.0, ""), (1e7, 1e3, "k"), (1e10, 1e6, "M"), (float("inf"), 1e9, "G")):
        if abs(value) < limit:
            scaled = value / divisor
            whole = scaled == int(scaled) or abs(scaled) >= 100  # noqa: PLR2004 -- three digits are enough
            return f"{scaled:.0f}{unit}" if whole else f"{scaled:.1f}{unit}"
    return _UNKNOWN


def _figure(path: Json, name: str) -> float:
    return -((path["response"] or {}).get(name) or 0.0)


SORTS: Final[dict[str, Callable[[Json], Any]]] = {
    "state": lambda path: -path["state_rank"],
    "path": lambda path: path["name"],
    "p50": lambda path: _figure(path, "50"),
    "p99": lambda path: _figure(path, "99"),
    "max": lambda path: _figure(path, "max"),
    "rate": lambda path: -(path["rate"] or 0),
    "lost": lambda path: -path["classes"]["lost"],
    "jitter": lambda path: -(((path["window"] or {}).get("jitter") or {}).get("max") or 0),
    "age": lambda path: path["last_received_seconds"] or 0,
}
