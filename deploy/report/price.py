"""The price of a change: rows and events in, a report out; no clock, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from collectors.contract.events import Event
from deploy.report.model import Alert, Figures, PathPrice, Point, Report, Span
from deploy.report.windows import Window, figures, merge, percentile
from streaming.exporter.event_effects import EventEffects, Trouble, end_ns
from streaming.exporter.window_verdict import not_taken_ns, unsent, verdict

SECOND_NS: Final = 10**9
LEAST_NS: Final = 30 * SECOND_NS  # before and after the event
MOST_NS: Final = 600 * SECOND_NS
RECOVERY_NS: Final = 3_600 * SECOND_NS  # what is not clean by then has not recovered
POINTS: Final = 300


def price(
    by_path: Mapping[str, Sequence[Window]],
    event: Event,
    *,
    others: Sequence[Event] = (),
    detected_ns: int | None = None,
    alert: Alert | None = None,
    alerts_asked: bool = False,
    left_out: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Return the report; the windows are those of `Windows.by_path`."""
    concerned = {path: windows for path, windows in by_path.items() if event.concerns(path)}
    ended_ns = end_ns(event)
    newest_ns = max((windows[-1].end_ns for windows in concerned.values()), default=event.at_ns)
    until_ns = max(newest_ns, event.at_ns) if ended_ns is None else ended_ns
    effects = EventEffects()
    for windows in concerned.values():
        for window in windows:
            effects.add_window(window.row, 0)
    effect = effects.effect(event)
    ends = [_over(effects.paths[path], event, until_ns, windows) for path, windows in concerned.items()]
    over_ns = min(max([until_ns, event.at_ns + 1, *ends]), until_ns + RECOVERY_NS)
    during = Span(event.at_ns, over_ns)
    length_ns = min(max(during.length_ns, LEAST_NS), MOST_NS)
    before, after = Span(event.at_ns - length_ns, event.at_ns), Span(over_ns, over_ns + length_ns)
    parts = {path: _parts(windows, before, during, after) for path, windows in concerned.items()}
    prices = tuple(
        _price(path, split, _recovered(effects.paths[path], event, ended_ns)) for path, split in parts.items()
    )
    kept = [split[0] for split in parts.values() if _enough(split[0])]
    return Report(
        event=event,
        ended_ns=ended_ns,
        before=before,
        during=during,
        after=after,
        detected_ns=detected_ns,
        alert=alert,
        alerts_asked=alerts_asked,
        recovered_ns=effect.recovered_ns,
        total_before=figures(kept),
        total_during=figures(split[1] for split in parts.values()),
        total_after=figures(split[2] for split in parts.values()),
        paths=tuple(sorted(prices, key=_worst_first)),
        others=tuple(
            other
            for other in others
            if other.key != event.key and other.covers(before.from_ns, after.until_ns)
        ),
        left_out=dict(left_out or {}),
        notes=(*notes, *_notes(by_path, parts, newest_ns, after)),
        points=tuple(_points(concerned, before, after)),
    )


Split = tuple[list[Window], list[Window], list[Window]]


def _over(trouble: Trouble, event: Event, until_ns: int, windows: Sequence[Window]) -> int:
    """Return when a path that was touched is clean again, or the end of what is known.

    What was held back is sent then, late: its windows are of the event, too.
    """
    bad_ns = trouble.first_bad(event.at_ns, until_ns + LEAST_NS)
    if bad_ns is None:
        return until_ns
    clean_ns = trouble.clean_from(max(until_ns, bad_ns))
    if clean_ns is None:
        return windows[-1].end_ns
    over_ns = clean_ns
    for window in windows:
        response = window.row["response"]
        if window.end_ns > over_ns:
            if response is None or window.start_ns - response["max_ns"] >= until_ns:
                break
            over_ns = window.end_ns
    return over_ns


def _recovered(trouble: Trouble, event: Event, ended_ns: int | None) -> int | None:
    if ended_ns is None:
        return None
    bad_ns = trouble.first_bad(event.at_ns, ended_ns + LEAST_NS)
    clean_ns = None if bad_ns is None else trouble.clean_from(max(ended_ns, bad_ns))
    return None if clean_ns is None else clean_ns - ended_ns


def _parts(windows: Sequence[Window], before: Span, during: Span, after: Span) -> Split:
    """Return the windows of each span; those at the event's edges are of `during`."""
    return (
        [w for w in windows if w.end_ns > before.from_ns and w.end_ns <= before.until_ns],
        [w for w in windows if w.end_ns > during.from_ns and w.start_ns < during.until_ns],
        [w for w in windows if w.start_ns >= after.from_ns and w.start_ns < after.until_ns],
    )


def _enough(before: Sequence[Window]) -> bool:
    return sum(window.row["window_ns"] for window in before) >= LEAST_NS


def _price(path: str, split: Split, recovered_ns: int | None) -> PathPrice:
    before = figures([split[0]]) if _enough(split[0]) else None
    during, after = figures([split[1]]), figures([split[2]])
    return PathPrice(path, tuple(_what(before, during, split[1])), recovered_ns, before, during, after)


def _what(before: Figures | None, during: Figures | None, windows: Sequence[Window]) -> list[str]:
    """Return in words how the path was touched."""
    if during is None:
        return []
    found = [word for word, count in (("lost", during.lost), ("refused", during.refused)) if count]
    if any(unsent(window.row) or not_taken_ns(window.row) for window in windows):
        found.append("held back")
    if before is not None:
        if during.p50_ns is not None and before.p99_ns is not None and during.p50_ns > before.p99_ns:
            found.append("slower")
        if before.routes and set(during.routes) - set(before.routes):
            found.append("rerouted")
    return found


def _worst_first(found: PathPrice) -> tuple[int, int, str]:
    during = found.during
    gone = during.lost + during.refused + during.unsent if during else 0
    return -gone, -len(found.what), found.path


def _notes(
    by_path: Mapping[str, Sequence[Window]], parts: Mapping[str, Split], newest_ns: int, after: Span
) -> list[str]:
    notes = []
    short = [path for path, split in parts.items() if split[1] and not _enough(split[0])]
    if short:
        longest = max(sum(w.row["window_ns"] for w in parts[path][0]) for path in short)
        notes.append(
            f"{_count(short)} less than {LEAST_NS // SECOND_NS} s of windows before the event"
            f" ({longest // SECOND_NS} s at the most): no figures of before, and no comparison"
        )
    troubled = [p for p, split in parts.items() if any(verdict(w.row) == "bad" for w in split[0])]
    if troubled:
        notes.append(f"{_count(troubled)} trouble before the event already: it did not do all of this")
    still = sum(w.row["unsent"].get("stalled", 0) for split in parts.values() for w in split[1])
    if still:
        notes.append(f"{still:,} messages were not sent as the monitor's own process stood still")
    unseen = [path for path, split in parts.items() if not split[1]]
    if unseen:
        notes.append(f"{_count(unseen)} no windows while it went on: nothing is known of what it did there")
    unconcerned = len(by_path) - len(parts)
    if unconcerned:
        notes.append(f"{unconcerned} other paths are not among those that the event concerns")
    if parts and newest_ns < after.until_ns:
        known_s = max(0, newest_ns - after.from_ns) // SECOND_NS
        notes.append(f"rows end {known_s} s after it was over: what comes later is not in this report")
    return notes


def _count(paths: Sequence[str]) -> str:
    return f"path {paths[0]} has" if len(paths) == 1 else f"{len(paths)} paths have"


def _points(by_path: Mapping[str, Sequence[Window]], before: Span, after: Span) -> list[Point]:
    """Return figures over the time from before to after, of all paths together, by whole windows."""
    shown = [
        window
        for windows in by_path.values()
        for window in windows
        if window.end_ns > before.from_ns and window.start_ns < after.until_ns
    ]
    if not shown:
        return []
    longest_ns = max(window.row["window_ns"] for window in shown)
    span_ns = after.until_ns - before.from_ns
    step_ns = longest_ns * max(1, -(-span_ns // (longest_ns * POINTS)))
    steps: dict[int, list[Window]] = {}
    for window in shown:
        steps.setdefault(window.start_ns // step_ns, []).append(window)
    return [_point(step * step_ns, step_ns, windows) for step, windows in sorted(steps.items())]


def _point(from_ns: int, step_ns: int, windows: Sequence[Window]) -> Point:
    latencies = merge(windows)
    maxima = [row["response"]["max_ns"] for row in (w.row for w in windows) if row["response"]]
    return Point(
        from_ns=from_ns,
        until_ns=from_ns + step_ns,
        p50_ns=percentile(latencies, "50"),
        p99_ns=percentile(latencies, "99"),
        max_ns=max(maxima, default=None),
        gone=sum(w.row["classes"].get("lost", 0) + w.row["classes"].get("refused", 0) for w in windows),
    )
