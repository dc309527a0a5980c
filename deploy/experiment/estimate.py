"""What an experiment will take: time and disk, of what was seen on labs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from collectors.config.paths import Path, resolve
from deploy.experiment.plan import Experiment
from deploy.experiment.setup import Setup

_SECOND_NS: Final = 1_000_000_000
_LAB_SECONDS: Final = 5.0
_BROKER_SECONDS: Final = 8.0
_END_SECONDS: Final = 4.0  # what was sent arrives, processes end, files are written
_UNKNOWN_RATE: Final = 10_000.0  # of an unbounded load that a count ends
_WINDOW_BYTES: Final = 2_000  # with its lines in the .hlog
_POLL_BYTES: Final = 1_200  # of a router or broker, a second
_TRIALS: Final = 20  # of a search


@dataclass(frozen=True)
class Estimate:
    runs: int
    seconds: float
    disk_bytes: int


def of_all(experiment: Experiment) -> Estimate:
    """Return what all runs take together."""
    return _sum(of_run(experiment.setup(run.levels)) for run in experiment.runs)


def of_run(setup: Setup) -> Estimate:
    """Return what one run takes."""
    paths = list(resolve(setup.config()).values())
    measured = _measured_seconds(setup, paths)
    network = setup.network
    parts = 0
    start = 1.0
    if network is not None:
        parts = len(network.plan.routers) + len(network.plan.brokers)
        start = _LAB_SECONDS + (_BROKER_SECONDS if network.plan.brokers else 0)
    disk = measured * (len(paths) * _WINDOW_BYTES + parts * _POLL_BYTES)
    return Estimate(1, start + measured + _END_SECONDS, round(disk))


def _measured_seconds(setup: Setup, paths: list[Path]) -> float:
    warm_up = (setup.plan.phases.warm_up or 0) / _SECOND_NS
    if (search := setup.plan.search) is not None:
        return _TRIALS * (warm_up + search.trial / _SECOND_NS + _END_SECONDS)
    counted = max((path.count / _rate(path) for path in paths if path.count), default=0.0)
    timed = sum((step.duration_ns or 0) for step in setup.steps()) / _SECOND_NS
    # What breaks a network may hold senders back for as long.
    broken = (
        max((action.after + (action.lasts or 0) for action in setup.plan.actions), default=0) / _SECOND_NS
    )
    return warm_up + (max(counted, broken) if counted else timed)


def _rate(path: Path) -> float:
    first = path.rate[0].start
    return first or _UNKNOWN_RATE


def _sum(runs: Iterable[Estimate]) -> Estimate:
    found = list(runs)
    return Estimate(len(found), sum(one.seconds for one in found), sum(one.disk_bytes for one in found))


def spoken(seconds: float) -> str:
    """Return a time as people say it."""
    seconds = round(seconds)
    if seconds < 100:  # noqa: PLR2004 -- short enough to be read
        return f"{seconds} s"
    minutes, hours = round(seconds / 60), seconds / 3_600
    return f"{minutes} min" if minutes < 100 else f"{hours:.1f} h"  # noqa: PLR2004 -- the same


def in_bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"
