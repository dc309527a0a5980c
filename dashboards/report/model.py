"""What a report tells: the plan, its runs, and what each gave. None says that something is not known.

The types are those of experiment.json and summary.json in a result folder, with their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from streaming.analysis.verdicts import Verdict

FORMAT: Final = 1
MOST_RUNS: Final = 10_000
_MOST_NAMES: Final = 10_000

Name: TypeAlias = Annotated[str, Field(max_length=1_024)]
Text: TypeAlias = Annotated[str, Field(max_length=16_384)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 63, strict=True)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Number: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Level: TypeAlias = Any  # whatever the plan puts into its document
Numbers: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Steady:
    """A path's windows of the steady phase, one after another; None where a window had no such figure."""

    window_seconds: Annotated[float | None, Field(gt=0, allow_inf_nan=False)]  # None: there was none
    p50_ns: Sequence[Count | None]
    p99_ns: Sequence[Count | None]
    received: Sequence[Count]
    lost: Sequence[Count]


@dataclass(frozen=True, slots=True)
class Figures:
    """What the steady phase of a run gave, of one path or of all of them."""

    sent: Count
    received: Count
    refused: Count
    lost: Count
    unobserved: Count
    unsent: Count = 0
    windows: Count = 0
    asked_per_second: Number | None = None
    rate_per_second: Number | None = None
    lost_share: Share | None = None
    p50_ns: Count | None = None
    p90_ns: Count | None = None
    p99_ns: Count | None = None
    p999_ns: Count | None = None
    max_ns: Count | None = None
    mean_ns: Number | None = None
    series: Steady | None = None

    @property
    def unsent_share(self) -> float | None:
        """What share of those due the network did not let be sent."""
        due = self.sent + self.unsent
        return self.unsent / due if due else None


@dataclass(frozen=True, slots=True)
class Action:
    """What was done to the network on purpose."""

    name: Name
    what: Text
    began_ns: Count
    ended_ns: Count | None = None
    problem: Text | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What must hold by the plan, and whether it did."""

    must: Text
    held: bool
    is_: Annotated[float | None, Field(alias="is", allow_inf_nan=False)] = None


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a run, with the value of the setting that changes."""

    value: Level
    from_ns: Count
    to_ns: Count
    figures: Annotated[Mapping[Name, Figures], Field(max_length=_MOST_NAMES)]


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial of a search."""

    rate_per_second: Number  # of each path
    word: Name
    why: Text = ""
    figures: Figures | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a search found the capacity to be: the highest rate that passed, the lowest that failed."""

    says: Text
    low_per_second: Number | None = None
    high_per_second: Number | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """A search, with its trials in the order of time."""

    interval: Interval
    trials: Annotated[Sequence[Tried], Field(max_length=1_000)] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the plan, with the levels that its factors had."""

    number: Annotated[Count, Field(ge=1)]
    repetition: Count
    levels: Annotated[Mapping[Name, Level], Field(max_length=64)]
    figures: Annotated[Mapping[Name, Figures], Field(max_length=_MOST_NAMES)]
    began_ns: Count
    ended_ns: Count
    steady_from_ns: Count | None = None
    steady_to_ns: Count | None = None
    stopped: Text | None = None
    at_ceiling: bool = False
    actions: Annotated[Sequence[Action], Field(max_length=10_000)] = ()
    memory: Annotated[Mapping[Name, Mapping[Name, Count | None]], Field(max_length=_MOST_NAMES)] = field(
        default_factory=dict
    )
    held: Annotated[Sequence[Held], Field(max_length=1_000)] = ()
    steps: Annotated[Sequence[Step], Field(max_length=1_000)] = ()
    search: Search | None = None

    @property
    def all(self) -> Figures | None:
        return self.figures.get("all")


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that the plan has, whether or not it was done yet."""

    number: Annotated[Count, Field(ge=1)]
    repetition: Count
    levels: Annotated[Mapping[Name, Level], Field(max_length=64)]


@dataclass(frozen=True, slots=True)
class Plan:
    """experiment.json: what was to be done, where, and with what."""

    plan: Name
    says: Text = ""
    seed: int = 0
    began_ns: Count = 0
    versions: Annotated[Mapping[Name, Any], Field(max_length=1_000)] = field(default_factory=dict)
    machine: Annotated[Mapping[Name, Any], Field(max_length=1_000)] = field(default_factory=dict)
    ceiling: Mapping[Name, Number | None] | None = None
    runs: Annotated[Sequence[Planned], Field(max_length=MOST_RUNS)] = ()
    document: Mapping[str, Any] | None = None  # the plan as it was run, with its form and files in place


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Values over time; a value that is not known is nan."""

    name: str
    seconds: Numbers  # since the run began
    values: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A run over time, its warm-up included."""

    latency_ns: Sequence[Line] = ()
    rate_per_second: Sequence[Line] = ()
    lost: Sequence[Line] = ()
    queued: Sequence[Line] = ()
    memory_bytes: Sequence[Line] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """A whole result folder."""

    plan: Plan
    runs: Sequence[Run]
    timelines: Mapping[int, Timeline]  # by the run's number
    plan_text: str
    command: str  # that repeats it
    factors: Mapping[str, Sequence[Level]] = field(
        default_factory=dict
    )  # as the plan has them, levels in order
    remarks: Sequence[str] = ()

    @property
    def missing(self) -> Sequence[Planned]:
        done = {run.number for run in self.runs}
        return [planned for planned in self.plan.runs if planned.number not in done]


@dataclass(frozen=True, slots=True)
class Compared:
    """A combination of levels: its verdict, and the runs of both sides."""

    name: str
    verdict: Verdict
    a: Sequence[Run]
    b: Sequence[Run]
