"""A path in a word and a sentence: what someone woken at night reads first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from streaming.exporter.path import Path, Point
from streaming.wording import seconds

SILENT_NS: Final = 30 * 10**9
OUTAGE_NS: Final = 10**9
BEHIND_NS: Final = 10**9
RECENT_NS: Final = 60 * 10**9


class Status(NamedTuple):
    """One of `words.WORDS`, and the reason."""

    word: str
    text: str


def status(path: Path, now_ns: int) -> Status:
    """The worst that is true of this path now."""
    return next(_found(path, now_ns), Status("ok", ""))


def _found(path: Path, now_ns: int) -> Iterator[Status]:
    """All that is wrong, the worst first."""
    live, recent = path.live, _recent(path)
    if path.seen_ns is None:
        yield Status("waiting", "no data yet")
        return
    if now_ns - path.seen_ns > SILENT_NS:
        yield Status("silent", f"no data for {seconds(now_ns - path.seen_ns)}")
    if path.outage_ns >= OUTAGE_NS:
        yield Status("outage", f"nothing delivered for {seconds(path.outage_ns)}{_unlinked(path)}")
    if lost := sum(point.lost for point in recent):
        yield Status("losing", f"{lost} lost in the last minute")
    if live and live["behind_ns"] > BEHIND_NS:
        yield Status("behind", f"not sent for {seconds(live['behind_ns'])}{_unlinked(path)}")
    if live and live["suspect"]:
        yield Status("suspect", f"{live['suspect']} missing, not final yet")
    if refused := sum(point.refused for point in recent):
        yield Status("refused", f"{refused} refused in the last minute")
    if unobserved := sum(point.unobserved for point in recent):
        yield Status("blind", f"{unobserved} unobserved in the last minute")
    yield from _slow(path)


def _unlinked(path: Path) -> str:
    """Which of the ends have no link now, which may be why."""
    ends = path.live["ends"] if path.live else []
    roles = sorted({end["role"] for end in ends if end["link"] != "attached"}, reverse=True)
    return "".join(f", {role} detached" for role in roles)


def _slow(path: Path) -> Iterator[Status]:
    response = path.window["response"] if path.window else None
    p99_ns = response["percentiles"].get("99", 0) if response else 0
    for slo in path.objectives:
        if slo.bound_ns is not None and p99_ns > slo.bound_ns:
            yield Status("slow", f"p99 {p99_ns / 1e6:.4g} ms, objective {slo.bound_ns / 1e6:g} ms")


def _recent(path: Path) -> list[Point]:
    if not path.history:
        return []
    since_ns = path.history[-1].end_ns - RECENT_NS
    return [point for point in path.history if point.end_ns > since_ns]
