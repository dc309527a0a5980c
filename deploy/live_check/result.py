"""The outcome of one check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checked:
    """What was looked at, what was found, and where it is wrong, what to do, ready to paste."""

    ok: bool
    what: str
    text: str
    fix: str = ""
