"""What must hold by a plan, as `[PATH: ]FIGURE <= BOUND`: what it was, in the unit of its figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dashboards.report.cells import COLUMNS
from dashboards.report.model import Held

_FORM: Final = re.compile(r"([a-z][a-z0-9.]*)\s*([<>])=?[^<>]*")
_WRITTEN: Final = {column.name: column.written for column in COLUMNS}


def was(demand: Held) -> str:
    """Return what the figure was, such as `140 ms`; nothing where it is not known."""
    if demand.is_ is None:
        return ""
    figure, _ = _parts(demand)
    written = _WRITTEN.get("max" if figure == "mean" else figure)
    return written(demand.is_) if written else f"{demand.is_:,.6g}"


def worst(demands: Sequence[Held]) -> str:
    """Return what the figure was at the worst, of several runs with the same bound."""
    known = [demand for demand in demands if demand.is_ is not None]
    if not known:
        return ""
    _, sign = _parts(known[0])
    return was((max if sign == "<" else min)(known, key=lambda demand: demand.is_ or 0))


def _parts(demand: Held) -> tuple[str, str]:
    found = _FORM.fullmatch(demand.must.rpartition(": ")[2])
    return (found[1], found[2]) if found else ("", "<")
