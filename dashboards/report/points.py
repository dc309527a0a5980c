"""Fewer points of a line, so that it looks the same: of each stretch its least and its most."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from dashboards.report.model import Line

_LEAST_POINTS: Final = 4


def thinned(line: Line, most: int) -> Line:
    """Return the line with `most` points or fewer; the first, the last, peaks and gaps stay."""
    count = len(line.values)
    if count <= max(most, _LEAST_POINTS):
        return line
    stretches = max(most, _LEAST_POINTS) // 2 - 1
    edges = np.linspace(1, count - 1, stretches + 1).astype(int)
    kept = {0, count - 1}
    for begin, end in pairwise(edges):
        values = line.values[begin:end]
        if not len(values):
            continue
        if np.isnan(values).all():
            kept.add(int(begin))
            continue
        kept |= {int(begin + np.nanargmin(values)), int(begin + np.nanargmax(values))}
    places = sorted(kept)
    return Line(line.name, line.seconds[places], line.values[places])
