"""Figures in the words of people."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "–"


def duration(duration_ns: int) -> str:
    """Return 0.8 s, 42 s, 3 min or 2 h."""
    whole = duration_ns // 10**9
    if whole < 1:
        return f"{duration_ns / 1e9:.1f} s"
    if whole < 120:  # noqa: PLR2004 -- two minutes are better told in minutes
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7_200 else f"{whole // 3_600} h"  # noqa: PLR2004 -- the same, hours


def budget(left: float, since: str = "") -> str:
    """Return `38 % left`, or `used up 171 times over, since 14:02` for what is below 0."""
    if left >= 0:
        return f"{left * 100:.0f} % left"
    used = 1 - left
    times = f"{used:,.0f}" if used >= 10 else f"{used:.1f}"  # noqa: PLR2004 -- two digits say enough
    return f"used up {times} times over" + (f", since {since}" if since else "")


def seconds(ns: int) -> str:
    """Return a duration: 0 s, 0.8 s, 9.5 s, 42 s, 12 min 30 s, 2 h 5 min."""
    if not ns:
        return "0 s"
    if ns < 10 * 10**9:
        return f"{ns / 1e9:.1f} s"
    whole = round(ns / 1e9)
    if whole < 120:  # noqa: PLR2004 -- two minutes are better told in minutes
        return f"{ns / 1e9:.1f} s".replace(".0 s", " s")
    if whole < 7_200:  # noqa: PLR2004 -- the same, hours
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3_600} h" + (f" {whole % 3_600 // 60} min" if whole % 3_600 // 60 else "")


def latency(ns: int | None) -> str:
    """Return a latency in three digits and a unit."""
    if ns is None:
        return UNKNOWN
    for below, unit_ns, unit in ((999_500, 1e3, "µs"), (999_500_000, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if ns < below:
            return f"{ns / unit_ns:.3g} {unit}"
    return UNKNOWN


def share(of_all: float | None) -> str:
    """Return a share of messages in percent, so that one that is not 0 never reads as 0."""
    if of_all is None:
        return UNKNOWN
    percent = of_all * 100
    if not percent or percent >= 0.01:  # noqa: PLR2004 -- two digits behind the point say enough
        return f"{percent:.2f} %" if percent else "0 %"
    return f"{percent:.1g} %"


def rate(per_second: float | None) -> str:
    """Return messages a second: 4.5/s, 230/s, 18,489/s."""
    if per_second is None:
        return UNKNOWN
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.3g}/s"  # noqa: PLR2004 -- three digits


def size(held_bytes: float | None) -> str:
    """Return bytes in three digits and a unit."""
    if held_bytes is None:
        return UNKNOWN
    for below, unit_bytes, unit in ((999.5, 1, "B"), (999.5e3, 1e3, "kB"), (999.5e6, 1e6, "MB")):
        if held_bytes < below:
            return f"{held_bytes / unit_bytes:.3g} {unit}"
    return f"{held_bytes / 1e9:.3g} GB"
