"""What Inflight says of a path since a story began: the sentence that names the hop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Final

from deploy.errors import Problem
from deploy.why.ask import ask_exporter
from deploy.why.choose import Known, choose
from deploy.why.text import sentence

_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence of a path, of several episodes one after the other, and whether it can still change."""

    path: str
    sentence: str
    final: bool

    @property
    def text(self) -> str:
        return f"{self.path}: {self.sentence} ({'final' if self.final else 'provisional'})"


@dataclass(frozen=True, slots=True)
class Span:
    """From when the network was broken to when it was whole again."""

    from_ns: int
    to_ns: int


def wait_final(url: str, path: str, span: Span, seconds: float, stopping: threading.Event) -> Verdict:
    """Return what the exporter says when it is final, or as it is when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = verdict(ask_exporter(url, path), span)
        except Problem as problem:
            found = Verdict(path, problem.message, final=False)
        if found.final or time.monotonic() > deadline or stopping.wait(_LOOK_SECONDS):
            return found


def verdict(known: Known, span: Span) -> Verdict:
    """Return what is said of that time; it is final when all its windows and episodes are."""
    rows = [row for row in known.rows if row["to_ns"] > span.from_ns and row["from_ns"] < span.to_ns]
    chosen = choose(replace(known, rows=rows))
    told = sorted((row for row in (chosen.row, *chosen.also) if row), key=lambda row: row["from_ns"])
    settled = known.window is not None and known.window["start_ns"] >= span.to_ns
    final = settled and bool(told) and all(row["final"] and not row["open"] for row in told)
    missing = [row["sentence"] for row in told if row["lost"] + row["refused"]]
    return Verdict(known.path, "; ".join(missing) or sentence(chosen), final)
