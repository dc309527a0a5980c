"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked, what was found, and if that is wrong, a fix that is ready to paste."""

    ok: bool
    what: str
    text: str
    fix: str = ""


def failed(what: str, text: str, fix: str) -> Checked:
    return Checked(ok=False, what=what, text=text, fix=fix)


def passed(what: str, text: str) -> Checked:
    return Checked(ok=True, what=what, text=text)
