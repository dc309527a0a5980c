"""Lists of [from, to) in ns: gaps, detachments, times that somebody watched."""

from __future__ import annotations

from collections.abc import Iterable

Spans = list[tuple[int, int]]


def add(spans: Spans, more: Iterable[tuple[int, int]], limit: int) -> None:
    """Add spans, joined with what they touch. Of more than `limit` the closest are taken together."""
    more = [(from_ns, to_ns) for from_ns, to_ns in more if from_ns < to_ns]
    if not more:
        return
    found = union([*spans, *more])
    between = sorted(range(1, len(found)), key=lambda i: found[i][0] - found[i - 1][1])
    joined = set(between[: max(len(found) - limit, 0)])
    firsts = [i for i in range(len(found)) if i not in joined]
    spans[:] = [
        (found[first][0], found[following - 1][1])
        for first, following in zip(firsts, [*firsts[1:], len(found)], strict=True)
    ]


def union(spans: Iterable[tuple[int, int]]) -> Spans:
    """Returns the same time as disjoint spans, ascending."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def uncovered(spans: Iterable[tuple[int, int]], start_ns: int, end_ns: int) -> Spans:
    """Returns what of [start, end) is in none of the spans."""
    found: Spans = []
    for first, last in union(spans):
        if last <= start_ns:
            continue
        if first >= end_ns:
            break
        if first > start_ns:
            found.append((start_ns, first))
        start_ns = last
    if start_ns < end_ns:
        found.append((start_ns, end_ns))
    return found


def forget(spans: Spans, before_ns: int) -> None:
    """Drop the spans that ended before that time."""
    if spans and spans[0][1] < before_ns:
        spans[:] = [span for span in spans if span[1] >= before_ns]
