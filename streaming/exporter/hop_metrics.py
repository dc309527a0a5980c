"""Hops of episodes that are of now, in Prometheus' text format: they change with the clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from collectors.http.metric_factory import head, line_form, quote
from streaming.exporter.episodes import Where
from streaming.exporter.path import Path

_BLAMED: Final = line_form("path_blamed_hop")
_DELAY: Final = line_form("path_delay_explained_seconds")


def of_now(paths: Iterable[Path], now_ns: int) -> list[str]:
    """Return the families of the hops that are to blame now."""
    blamed, delays = [], []
    for path in paths:
        if not path.episodes.kept:
            continue
        names = quote(path.labels.mesh), quote(path.name)
        loss, slow = (path.episodes.newest(now_ns, kind) for kind in ("loss", "slow"))
        if loss and loss.hop:
            blamed.append(_BLAMED % (*names, quote(loss.hop), quote(loss.cause), loss.said))
        if slow and slow.open:
            delays += [
                _DELAY % (*names, quote(hop), quote(cause), ns / 1e9)
                for (hop, cause), ns in _by_hop(slow).items()
            ]
    return [
        text
        for name, lines in (("path_blamed_hop", blamed), ("path_delay_explained_seconds", delays))
        if lines
        for text in (head(name), *lines)
    ]


def _by_hop(slow: Where) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for hop, cause, delay_ns in slow.delays:
        found[hop, cause] = found.get((hop, cause), 0) + delay_ns
    return found
