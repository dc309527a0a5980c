"""Words and figures for people, shared by the exporter's view and the terminal."""

from __future__ import annotations

from typing import Final

# States of a path, the worst first; the order in which paths are listed.
WORDS: Final = (
    *("outage", "losing", "silent", "behind", "suspect"),
    *("refused", "blind", "slow", "waiting", "ok"),
)


def seconds(duration_ns: int) -> str:
    """Returns it as people say it: 0.8 s, 42 s, 3 min, 2 h."""
    whole = duration_ns // 10**9
    if whole < 1:
        return f"{duration_ns / 1e9:.1f} s"
    if whole < 120:  # noqa: PLR2004 -- two minutes are better told in minutes
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7_200 else f"{whole // 3_600} h"  # noqa: PLR2004 -- the same, hours
