"""Stretches of time, kept short and in order."""

from __future__ import annotations

from collections.abc import Iterable

Spans = list[tuple[int, int]]


def add(spans: Spans, from_ns: int, to_ns: int, limit: int) -> None:
    """Put in [from, to), joined with what it touches; beyond the limit the closest neighbours become one."""
    if from_ns >= to_ns:
        return
    spans[:] = union([*spans, (from_ns, to_ns)])
    while len(spans) > limit:
        nearest = min(range(len(spans) - 1), key=lambda i: spans[i + 1][0] - spans[i][1])
        spans[nearest : nearest + 2] = [(spans[nearest][0], spans[nearest + 1][1])]


def union(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same time as disjoint spans, ascending."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def uncovered(spans: Iterable[tuple[int, int]], start_ns: int, end_ns: int) -> Spans:
    """What of [start, end) is in none of the spans."""
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
    """Drop what ended before."""
    if spans and spans[0][1] < before_ns:
        spans[:] = [span for span in spans if span[1] >= before_ns]
