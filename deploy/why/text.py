"""What was found as text of 80 columns: the sentence with its sum first, then the hops along the route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from rich.cells import cell_len

from collectors.contract.attribution_rows import AttributionRow, Hop
from collectors.contract.untrusted_text import shown
from dashboards.terminal.cells import left, right, wrapped
from dashboards.terminal.table import count
from deploy.why.choose import Chosen

WIDTH: Final = 80
_HEADS: Final = ("hop", "in", "out", "cause", "evidence")
_HOP: Final = 26  # columns at the most
_UNKNOWN: Final = "–"
_ALSO: Final = 5
_EXACT: Final = 10_000_000  # what is more is rounded in the table


class _Line(NamedTuple):
    hop: str
    into: str
    out: str
    lost: str
    cause: str
    evidence: Sequence[str]


def text(chosen: Chosen) -> str:
    """Return everything that is said of the time."""
    return "\n".join(_lines(chosen)) + "\n"


def sentence(chosen: Chosen) -> str:
    """Return the answer, with its sum."""
    if chosen.row is not None:
        return chosen.row["sentence"]
    window = chosen.window
    if window is None and chosen.at_ns is not None:
        when = _moment(chosen.at_ns)
        return f"nothing missing is known of {when}: no episode of then; an archive has its windows"
    if window is None:
        return "nothing is known to be missing: there is no final window yet"
    sent, classes = window["sent"], window["classes"]
    when = f"{_span(window['start_ns'], window['start_ns'] + window['length_ns'])} UTC"
    missing = [f"{classes[name]:,} {name}" for name in ("lost", "refused") if classes.get(name)]
    if missing:
        return f"{' and '.join(missing)} of {sent:,} sent {when}; no hop is named yet"
    unobserved = classes.get("unobserved", 0)
    beside = f", {unobserved:,} not observed" if unobserved else ""
    return f"nothing missing: {classes.get('received', 0):,} of {sent:,} sent {when} received{beside}"


def _lines(chosen: Chosen) -> Iterator[str]:
    yield from wrapped(shown(sentence(chosen)), WIDTH)
    row = chosen.row
    if row is not None:
        if row["route"] or row["hops"]:
            yield ""
            yield from _table(row)
        yield from _remarks(row)
    for other in chosen.also[:_ALSO]:
        yield from _marked("also: ", other["sentence"])
    if chosen.before is not None:
        at = _moment(chosen.before["from_ns"])
        yield from _marked("before: ", f"{chosen.before['sentence']} (--at {at})")


def _remarks(row: AttributionRow) -> Iterator[str]:
    beside = (
        (row["unobserved"], "unobserved: nobody watched"),
        (row["unsent"], "unsent: due and given up"),
        (row["suspect"], "suspect: missing for longer than usual, not final yet"),
    )
    remarks = [f"{number:,} {what}" for number, what in beside if number]
    if row["slow"] is not None:
        slow = row["slow"]
        normal = f"normal {_delay(slow['normal_ns'])}" if slow["normal_ns"] else "above its objective's bound"
        remarks.append(f"p{slow['percentile']} {_delay(slow['now_ns'])}, {normal}")
    if any(stop["into"] is not None or stop["out"] is not None for stop in row["route"]):
        remarks.append("in and out: counted from the poll before it to the poll after it")
    if row["not_exact"]:
        remarks.append(f"not exact: {row['not_exact']}")
    if not row["final"]:
        remarks.append("not final: polls or windows of this time are still to come")
    if row["continued"]:
        remarks.append("it goes on in the next episode")
    if remarks:
        yield ""
    for remark in remarks:
        yield from _marked("note: ", remark)


def _table(row: AttributionRow) -> Iterator[str]:
    lines = list(_rows(row))
    heads = _Line(*_HEADS[:3], _sum_head(row), _HEADS[3], [_HEADS[4]])
    cells = [(shown(one.hop), *one[1:5]) for one in (heads, *lines)]
    widths = [max(cell_len(cell[place]) for cell in cells) for place in range(5)]
    widths[0] = min(widths[0], _HOP)
    for one, (hop, into, out, lost, cause) in zip((heads, *lines), cells, strict=True):
        figures = " ".join(right(cell, w) for cell, w in zip((into, out, lost), widths[1:4], strict=True))
        start = f"{left(hop, widths[0])} {figures} {left(cause, widths[4])} "
        indent = " " * cell_len(start)
        evidence = [part for said in one.evidence for part in wrapped(shown(said), WIDTH - cell_len(start))]
        yield (start + (evidence[0] if evidence else "")).rstrip()
        yield from (indent + part for part in evidence[1:])


def _sum_head(row: AttributionRow) -> str:
    """Return what the figures of a row's hops are of; where they are of both, each says it beside."""
    if row["kind"] == "slow":
        return "delay"
    return "missing" if row["lost"] and row["refused"] else "refused" if row["refused"] else "lost"


def _rows(row: AttributionRow) -> Iterator[_Line]:
    """Yield a line for each stop of the route, more where several causes are there, then other hops."""
    hops, head = list(row["hops"]), _sum_head(row)
    for stop in row["route"]:
        here = [hop for hop in hops if hop["hop"] == stop["hop"]]
        hops = [hop for hop in hops if hop["hop"] != stop["hop"]]
        flow = _count(stop["into"]), _count(stop["out"])
        if not here:
            yield _Line(stop["hop"], *flow, _sum(stop["lost"]) if stop["lost"] else "", stop["cause"], [])
        told: list[str] = []
        for number, hop in enumerate(here):
            yield _of_hop(hop, *(flow if number == 0 else ("", "")), head, told)
            told += hop["evidence"]
    for hop in hops:
        yield _of_hop(hop, _UNKNOWN, _UNKNOWN, head)
    for of, count_ in (("lost", row["unexplained_lost"]), ("refused", row["unexplained_refused"])):
        if count_:
            yield _Line("(no hop)", "", "", _sum(count_), "", [f"{of}, unexplained"])


def _of_hop(hop: Hop, into: str, out: str, head: str, told: Sequence[str] = ()) -> _Line:
    """Return its line; `told` is the evidence that stands above it."""
    shared = ["also of other traffic"] if hop["shared"] else []
    if hop["delay_ns"] or hop["cause"] == "slow":
        return _Line(
            hop["hop"], into, out, _delay(hop["delay_ns"]), hop["cause"], [*shared, *hop["evidence"]]
        )
    of = [] if hop["of"] == head else [hop["of"]]
    bounds = [] if hop["lower"] == hop["upper"] else [f"from {hop['lower']:,} to {hop['upper']:,}"]
    about = ", ".join([*of, *(["exact"] if hop["exact"] else bounds), *shared])
    evidence = [*filter(None, [about]), *(text for text in hop["evidence"] if text not in told)]
    return _Line(hop["hop"], into, out, _sum(hop["said"]), hop["cause"], evidence)


def _marked(mark: str, said: str) -> list[str]:
    return wrapped(shown(said), WIDTH, mark, " " * len(mark))


def _count(value: int | None) -> str:
    return _UNKNOWN if value is None else _sum(value)


def _sum(value: int) -> str:
    return f"{value:,}" if value < _EXACT else count(value)


def _delay(ns: int) -> str:
    return f"{ns / 1e9:.3g} s" if ns >= 10**9 else f"{ns / 1e6:.3g} ms"


def _moment(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _span(from_ns: int, to_ns: int) -> str:
    """Return both times in UTC, to the second."""
    first, last = _moment(from_ns), _moment(to_ns)
    return f"{first[11:19]}–{last[11:19]}"
