"""Figures in the words of people, as exporter and terminal write them."""

from __future__ import annotations


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
