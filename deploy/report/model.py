"""What a report says. Times and durations are integers of ns; None says that it is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from collectors.contract.events import Event

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Span:
    """A time [from, until)."""

    from_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        return self.until_ns - self.from_ns


@dataclass(frozen=True, slots=True)
class Figures:
    """What some windows say together; a percentile is there only where its rank leaves a message above."""

    windows: int
    covered_ns: int  # of the path that has most
    sent: int
    received: int
    refused: int
    lost: int
    unobserved: int
    unsent: int  # due, and given up as the network took none; not among those sent
    stood_still: int  # due, and given up as the sender's process stood still
    down_ns: int  # of the path that was down longest
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    routes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PathPrice:
    """One path; `what` says in words how it was touched, and is empty where it was not."""

    path: str
    what: tuple[str, ...]
    recovered_ns: int | None  # after the event's end
    before: Figures | None  # None: too little is known for a comparison
    during: Figures | None  # None: no window is there
    after: Figures | None


@dataclass(frozen=True, slots=True)
class Alert:
    """The first alert that fired, and how long after the event's begin."""

    name: str
    after_ns: int


@dataclass(frozen=True, slots=True)
class Point:
    """Some time of all paths together, for the picture."""

    from_ns: int
    until_ns: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    gone: int  # lost and refused


@dataclass(frozen=True, slots=True)
class Report:
    """The price of a change."""

    event: Event
    ended_ns: int | None  # None: it goes on, or nobody told its end
    before: Span
    during: Span
    after: Span
    detected_ns: int | None
    alert: Alert | None
    alerts_asked: bool
    recovered_ns: int | None
    total_before: Figures | None
    total_during: Figures | None
    total_after: Figures | None
    paths: tuple[PathPrice, ...]
    others: tuple[Event, ...]  # events that went on before or meanwhile
    left_out: Mapping[str, int]  # rows and events that could not be used, by the reason
    notes: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def touched(self) -> tuple[PathPrice, ...]:
        return tuple(price for price in self.paths if price.what)

    @property
    def long_ns(self) -> int:
        return (self.during.until_ns if self.ended_ns is None else self.ended_ns) - self.event.at_ns


def as_json(report: Report, answer: str) -> dict[str, Any]:
    """Return all of it, with the answer in a sentence."""
    return {"v": VERSION, "answer": answer, **asdict(report)}
