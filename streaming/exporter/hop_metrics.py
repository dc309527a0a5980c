"""Hops of episodes that are of now, in Prometheus' text format: they change with the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from collectors.http.metric_factory import head, line_form, quote
from streaming.exporter.episodes import Where
from streaming.exporter.path import Path

_FORMS: Final = {
    name: line_form(name)
    for name in ("path_blamed_hop", "path_route_messages", "path_delay_explained_seconds")
}
_Value = tuple[str, tuple[str, ...], float | int]  # metric, labels beside mesh and path, value


def of_now(paths: Iterable[Path], now_ns: int) -> Iterator[str]:
    """Yield the families of the hops that are to blame now."""
    lines: dict[str, list[str]] = {name: [] for name in _FORMS}
    for path in paths:
        if path.episodes.kept:
            of_path = path.labels.mesh, path.name
            for name, labels, value in _values(path, now_ns):
                lines[name].append(_FORMS[name] % (*map(quote, (*of_path, *labels)), value))
    for name, found in lines.items():
        if found:
            yield head(name)
            yield from found


def _values(path: Path, now_ns: int) -> Iterator[_Value]:
    loss, slow = (path.episodes.newest(now_ns, kind) for kind in ("loss", "slow"))
    if loss is not None:
        if loss.hop:
            yield "path_blamed_hop", (loss.hop, loss.cause), loss.said
        for place, (hop, into, out) in enumerate(loss.route, 1):
            for flow, count in (("in", into), ("out", out)):
                if count is not None:
                    yield "path_route_messages", (f"{place:02}", hop, flow), count
    if slow is not None and slow.open:
        for labels, delay_ns in _by_hop(slow).items():
            yield "path_delay_explained_seconds", labels, delay_ns / 1e9


def _by_hop(slow: Where) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for hop, cause, delay_ns in slow.delays:
        found[hop, cause] = found.get((hop, cause), 0) + delay_ns
    return found
