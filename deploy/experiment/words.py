"""What is said to who runs an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deploy.experiment import estimate
from deploy.experiment.plan import Experiment


def takes(experiment: Experiment, missing: int | None = None) -> Iterator[str]:
    """Yield what an experiment will take; of `missing` runs, where not all are."""
    plan = experiment.plan
    whole = estimate.of_all(experiment)
    share = 1.0 if missing is None else missing / whole.runs
    yield f"{plan.name}: {plan.says.strip()}"
    for name, levels in experiment.factors.items():
        yield f"  {name}: {', '.join(map(str, levels))}"
    runs = whole.runs if missing is None else missing
    repeated = f", {plan.repetitions} repetitions in random order" if plan.repetitions > 1 else ""
    several = "run" if runs == 1 else "runs"
    time, disk = estimate.spoken(whole.seconds * share), estimate.in_bytes(whole.disk_bytes * share)
    yield f"{runs} {several}{repeated}: about {time}, and {disk} of disk"


def levels(of: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={level}" for name, level in of.items())
