"""A path's state with its reason: what someone woken at night reads first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from collectors.contract.window_rows import Class
from streaming.exporter.objectives import Objective
from streaming.exporter.path import Path
from streaming.states import (
    BEHIND_SECONDS,
    BY_WORD,
    OUTAGE_SECONDS,
    SILENT_SECONDS,
    STATES,
    Diagnosis,
)
from streaming.wording import duration

_SECOND_NS: Final = 10**9


def diagnose(path: Path, now_ns: int, *, maintenance: bool) -> Diagnosis:
    """Return the first state of the table whose rule holds, with the reason.

    In maintenance the reason tells the state that the path would be in otherwise.
    """
    if maintenance:
        other, reason = diagnose(path, now_ns, maintenance=False)
        hidden = ": ".join(filter(None, (other.word, reason)))
        return Diagnosis(BY_WORD["maintenance"], "" if other.word == "ok" else hidden)
    if path.seen_ns is None:
        return Diagnosis(BY_WORD["waiting"], "no data yet")
    quiet_ns = now_ns - path.seen_ns
    if quiet_ns > SILENT_SECONDS * _SECOND_NS:
        return Diagnosis(BY_WORD["silent"], f"no data for {duration(quiet_ns)}")
    if path.diagnosis is None:
        path.diagnosis = _diagnose_by_rows(path)
    return path.diagnosis


def _diagnose_by_rows(path: Path) -> Diagnosis:
    """Return what the newest rows say, whatever the time is."""
    for state, reason_of in _RULES:
        if reason := reason_of(path):
            return Diagnosis(state, reason)
    return _OK


def troubled_now(path: Path) -> bool:
    """Return whether the newest live row tells of trouble: of a state that no final window makes."""
    return bool(_outage(path) or _behind(path) or _suspect(path))


def _outage(path: Path) -> str:
    outage_ns = path.outage_ns
    if outage_ns < OUTAGE_SECONDS * _SECOND_NS:
        return ""
    return f"nothing delivered for {duration(outage_ns)}{_detached(path)}"


def _behind(path: Path) -> str:
    if path.live is None or path.live["behind_ns"] <= BEHIND_SECONDS * _SECOND_NS:
        return ""
    return f"not sent for {duration(path.live['behind_ns'])}{_detached(path)}"


def _suspect(path: Path) -> str:
    return f"{path.live['suspect']} missing, not final yet" if path.live and path.live["suspect"] else ""


def _counted(name: Class) -> Callable[[Path], str]:
    """Return the rule of a state that messages of this class make."""

    def reason(path: Path) -> str:
        count = path.recent_counts().classes[name]
        return f"{count} {name} in the last minute" if count else ""

    return reason


def _slow(path: Path) -> str:
    """Return the reason by the objective itself: its share may not be 99 %, and few messages have no p99."""
    bounded = [objective for objective in path.objectives if objective.bound_ns is not None]
    if not bounded:
        return ""
    classes, all_missed = path.recent_counts()
    received = classes["received"]
    for objective, missed in zip(bounded, all_missed, strict=False):  # there may be no window yet
        allowed = _allowed(objective, received)
        if missed > allowed:
            bound = f"{(objective.bound_ns or 0) / 1e6:g} ms"
            return f"{missed} of {received} over {bound} in the last minute, {allowed} allowed"
    return ""


def _allowed(objective: Objective, received: int) -> int:
    """Return how many may miss the bound, rounded up, after rounding off what floats add to 1 - ratio."""
    return math.ceil(round((1 - objective.ratio) * received, 6))


def _detached(path: Path) -> str:
    """Return which ends have no link now, which may be the cause."""
    ends = path.live["ends"] if path.live else []
    roles = sorted({end["role"] for end in ends if end["link"] != "attached"}, reverse=True)
    return "".join(f", {role} detached" for role in roles)


# By word, the reason, or nothing where the rule does not hold.
_REASONS: Final[dict[str, Callable[[Path], str]]] = {
    "outage": _outage,
    "behind": _behind,
    "suspect": _suspect,
    "slow": _slow,
    **{state.word: _counted(state.counts) for state in STATES if state.counts is not None},
}
WORDS_BY_ROWS: Final = _REASONS.keys()
_RULES: Final = tuple((state, _REASONS[state.word]) for state in STATES if state.word in _REASONS)
_OK: Final = Diagnosis(BY_WORD["ok"], "")
