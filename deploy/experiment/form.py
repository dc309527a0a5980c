"""The form of a plan; README.md of this folder explains it to who writes one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from collectors.config import units
from collectors.config.model import DurationNs, FileName, Name
from deploy.experiment import must
from deploy.experiment.must import Must
from deploy.topology.action import Action
from deploy.topology.names import NodeName

Tier = Literal["store", "broker", "hop"]  # what runs may have, or not

MOST_RUNS: Final = 10_000
_MOST_STEPS: Final = 1_000
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(\S*)")
_RATE: Final = "load.rate"
_OF: Final = "load."


def _each(value: object) -> int | None:
    """A duration in ns, or none where it is a number of messages."""
    return None if isinstance(value, int) and not isinstance(value, bool) else units.duration_ns(value)


def _share(value: object) -> float:
    return must.share(str(value))


def _as_must(value: object) -> Must:
    return must.read(value)


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Share = Annotated[float, BeforeValidator(_share)]
SizeBytes = Annotated[int, BeforeValidator(units.size_bytes)]
Musts = Annotated[tuple[Annotated[Any, AfterValidator(_as_must)], ...], BeforeValidator(_several)]


class _Element(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


class Network(_Element):
    """A lab, anew for each run, or end points that are there."""

    topology: dict[str, Any] | None = None
    config: FileName | None = None
    wiring: Literal["relays", "direct", "namespaces"] | None = None
    stand_ins: bool = Field(False, alias="stand-ins")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.topology is None) == (self.config is None):
            raise ValueError("name either a `topology`, which is run as a lab, or a `config` of end points")
        if self.config is not None and (self.wiring or self.stand_ins):
            raise ValueError("`wiring` and `stand-ins` are of a lab: they do not go with `config`")
        return self


class _Sequence(_Element):
    """What a setting is, one value after another; `each` is a time, or so many messages of a path."""

    of: str = _RATE
    each: int | str
    within: DurationNs | None = None  # what is answered later does not count for peak and break

    @model_validator(mode="after")
    def _timed(self) -> Self:
        if not self.of.startswith(_OF):
            raise ValueError("`of` is a setting of the load, like load.rate")
        if isinstance(self.each, int) and (self.each <= 0 or not self.is_rate):
            raise ValueError(
                "`each` is a time like 30s; a number of messages goes with `of: load.rate` alone"
            )
        _each(self.each)
        return self

    @property
    def is_rate(self) -> bool:
        """Whether it is the rate that changes, which a load can do while it is sent."""
        return self.of == _RATE

    def each_ns(self, value: Any) -> int:
        """Return how long this value lasts."""
        duration_ns = _each(self.each)
        if duration_ns is not None:
            return duration_ns
        rate = units.rate_per_second(value)
        if not rate:
            raise ValueError("`each` as a number of messages needs rates above zero")
        return round(int(self.each) / rate * 1e9)


class Steps(_Sequence):
    values: Annotated[tuple[Any, ...], Field(min_length=1, max_length=_MOST_STEPS)]


class Ramp(_Sequence):
    """From one value to another, both included where `by` fits."""

    start: Any = Field(alias="from")
    to: Any
    by: Any

    @model_validator(mode="after")
    def _can_be_counted(self) -> Self:
        self.values  # noqa: B018 -- it raises where it cannot be
        return self

    @property
    def values(self) -> Sequence[Any]:
        start, to, by = map(quantity, (self.start, self.to, self.by))
        if not by[0] or len({unit for _, unit in (start, to, by)}) != 1:
            raise ValueError("`from`, `to` and `by` are numbers of the same unit, and `by` is above zero")
        count = int(abs(to[0] - start[0]) / by[0]) + 1
        if count > _MOST_STEPS:
            raise ValueError(f"that is {count} steps; {_MOST_STEPS} are the most")
        sign = 1 if to[0] >= start[0] else -1
        return [_text(start[0] + sign * number * by[0], start[1]) for number in range(count)]


def quantity(value: object) -> tuple[Decimal, str]:
    """Return a number and its unit; raises ValueError."""
    match = _QUANTITY.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"{value!r} is not a number with its unit")
    return Decimal(match[1]), match[2]


def _text(number: Decimal, unit: str) -> Any:
    plain = f"{number.normalize():f}"
    if unit:
        return f"{plain}{unit}"
    return int(plain) if plain.isdecimal() else float(plain)


class Phases(_Element):
    """One after another: warm-up, then steady, or steps, or a ramp; none of these where a count ends it."""

    warm_up: DurationNs | None = Field(None, alias="warm-up")
    steady: DurationNs | None = None
    steps: Steps | None = None
    ramp: Ramp | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.steady, self.steps, self.ramp)) > 1:
            raise ValueError("`steady`, `steps` and `ramp` are one instead of another")
        if (sequence := self.sequence) is not None:
            for value in sequence.values:
                sequence.each_ns(value)
        return self

    @property
    def sequence(self) -> Steps | Ramp | None:
        return self.steps or self.ramp


class Stop(_Element):
    """Ends a run for safety, never because of the difference that is looked for."""

    lost: Share | None = None
    memory: SizeBytes | None = None  # of any process that was started
    disk: SizeBytes = units.size_bytes("200MB")  # at least free for the results


class Search(_Element):
    """The highest offered rate that passes, and the lowest that does not, as an interval."""

    low: Annotated[float, BeforeValidator(units.rate_per_second), Field(gt=0)]
    high: Annotated[float, BeforeValidator(units.rate_per_second), Field(gt=0)]
    trial: Annotated[DurationNs, Field(ge=10 * 10**9)] = units.duration_ns("30s")  # without warm-up
    lost: Share = 0.0
    p99: DurationNs | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError("`low` is below `high`")
        return self


class Plan(_Element):
    """The whole file, of which a form and the levels of a run were put in place already."""

    version: Literal[1]
    name: NodeName
    says: Annotated[str, Field(min_length=1, max_length=2_000)]
    network: Network
    load: dict[str, Any] = {}
    phases: Phases = Phases.model_construct()
    factors: dict[str, dict[str, Any] | list[Any]] = {}
    repetitions: Annotated[int, Field(ge=1, le=1_000)] = 1
    seed: Annotated[int, Field(ge=0, lt=1 << 53)] | None = None
    actions: Annotated[tuple[Action, ...], Field(max_length=200)] = ()
    stop: Stop = Stop()
    must: Musts = ()
    jitter: bool = False  # of each path after each action
    search: Search | None = None
    tiers: dict[Tier, Annotated[dict[str, Any], Field(min_length=1)]] = {}  # levels of runs without each
    forms: dict[Name, dict[str, Any]] = {}
