"""Latency and loss over time, with the event marked, as plain SVG: no script, colours by the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from deploy.report.model import Point, Report
from streaming.wording import latency

WIDTH, LATENCY_HEIGHT, GONE_HEIGHT = 900, 240, 110
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 34, 26, 22  # at the right there is half a time of day
_DECADES_LEAST: Final = 1_000  # ns: below a microsecond is nothing to see
_TICKS: Final = 6
_ABOUT: Final = "Response latency, and messages lost or refused, over time"
_STEPS_SECONDS: Final = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    1_200,
    1_800,
    3_600,
    7_200,
    14_400,
    43_200,
    86_400,
)


def picture(report: Report) -> str:
    """Return the picture, or nothing where no window is known."""
    points = report.points
    if not points:
        return ""
    from_ns, until_ns = points[0].from_ns, points[-1].until_ns

    def x(time_ns: int) -> float:
        inside = min(max(time_ns, from_ns), until_ns) - from_ns
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * inside / (until_ns - from_ns)

    height = LATENCY_HEIGHT + GONE_HEIGHT
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_ABOUT}">',
        *_marks(report, x, height),
        *_latencies(points, x),
        *_gone(points, x),
        *_times(from_ns, until_ns, x, height),
        "</svg>",
    ]
    return "\n".join(parts)


def _marks(report: Report, x: Callable[[int], float], height: int) -> Iterator[str]:
    """Yield the event as a band, its recovery as a paler one, and their words."""
    begin = x(report.event.at_ns)
    end = x(report.during.until_ns if report.ended_ns is None else report.ended_ns)
    over = x(report.during.until_ns)
    tall = height - _TOP - _BOTTOM
    wide = max(1.5, end - begin)
    yield f'<rect class="event" x="{begin:.1f}" y="{_TOP}" width="{wide:.1f}" height="{tall}"/>'
    if over > end + 1:
        yield f'<rect class="over" x="{end:.1f}" y="{_TOP}" width="{over - end:.1f}" height="{tall}"/>'
    yield f'<text class="mark" x="{begin:.1f}" y="{_TOP - 8}" text-anchor="middle">event</text>'


def _latencies(points: Sequence[Point], x: Callable[[int], float]) -> Iterator[str]:
    """Yield p50, p99 and maximum on an axis of decades."""
    known = [ns for p in points for ns in (p.p50_ns, p.p99_ns, p.max_ns) if ns is not None]
    if not known:
        return
    least = math.floor(math.log10(max(min(known), _DECADES_LEAST)))
    most = max(least + 1, math.ceil(math.log10(max(*known, _DECADES_LEAST))))
    bottom, top = LATENCY_HEIGHT - 14, _TOP

    def y(ns: int) -> float:
        return bottom - (bottom - top) * (math.log10(max(ns, 10**least)) - least) / (most - least)

    for decade in range(least, most + 1):
        yield from _line(y(10**decade), latency(10**decade))
    drawn: tuple[tuple[str, str, Callable[[Point], int | None]], ...] = (
        ("max", "max", lambda point: point.max_ns),
        ("p99", "p99", lambda point: point.p99_ns),
        ("p50", "p50", lambda point: point.p50_ns),
    )
    for number, (name, style, value) in enumerate(drawn):
        yield from _curve(points, style, value, x, y)
        place = WIDTH - _RIGHT - 40 * (len(drawn) - number)
        yield f'<text class="name {style}" x="{place}" y="{_TOP - 8}">{name}</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 8}">response latency</text>'


def _curve(
    points: Sequence[Point],
    style: str,
    value: Callable[[Point], int | None],
    x: Callable[[int], float],
    y: Callable[[int], float],
) -> Iterator[str]:
    """Yield a line for each stretch of time with figures; steps, as each is of its whole window."""
    run: list[str] = []
    last_ns = None
    for point in points:
        ns = value(point)
        if ns is None or (last_ns is not None and point.from_ns > last_ns):
            yield from _polyline(run, style)
            run = []
        if ns is not None:
            run += [f"{x(point.from_ns):.1f},{y(ns):.1f}", f"{x(point.until_ns):.1f},{y(ns):.1f}"]
        last_ns = point.until_ns
    yield from _polyline(run, style)


def _polyline(places: Sequence[str], style: str) -> Iterator[str]:
    if places:
        yield f'<polyline class="{style}" points="{" ".join(places)}"/>'


def _gone(points: Sequence[Point], x: Callable[[int], float]) -> Iterator[str]:
    """Yield a bar for each window in which messages were lost or refused."""
    most = max(point.gone for point in points)
    bottom, top = LATENCY_HEIGHT + GONE_HEIGHT - _BOTTOM, LATENCY_HEIGHT + 20
    yield f'<text x="{_LEFT}" y="{top - 6}">lost and refused</text>'
    yield from _line(bottom, "0")
    if most:
        yield from _line(top, f"{most:,}")
    for point in points:
        if point.gone:
            tall = (bottom - top) * point.gone / most
            left, right = x(point.from_ns), x(point.until_ns)
            yield (
                f'<rect class="gone" x="{left:.1f}" y="{bottom - tall:.1f}"'
                f' width="{max(1.0, right - left - 0.5):.1f}" height="{tall:.1f}"/>'
            )


def _line(y: float, name: str) -> Iterator[str]:
    yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'


def _times(from_ns: int, until_ns: int, x: Callable[[int], float], height: int) -> Iterator[str]:
    seconds = (until_ns - from_ns) / 1e9
    step = next((step for step in _STEPS_SECONDS if seconds / step <= _TICKS), _STEPS_SECONDS[-1])
    for second in range(-(-from_ns // 10**9 // step) * step, until_ns // 10**9 + 1, step):
        clock = datetime.fromtimestamp(second, UTC).strftime("%H:%M:%S")
        yield f'<text x="{x(second * 10**9):.1f}" y="{height - 6}" text-anchor="middle">{clock}</text>'
