"""What is compared: a result folder, or a baseline by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from collectors.contract.untrusted_text import shown
from dashboards.report.cells import written
from dashboards.report.model import Run
from deploy.compare import baselines, plans
from deploy.errors import Problem
from deploy.results import folder
from deploy.results.folder import Folder
from streaming.wording import size

BASELINE: Final = "baseline:"
_OF_THE_MACHINE: Final = ("cpu", "cores")


@dataclass(frozen=True, slots=True)
class Side:
    """One side, with the calibration load that was run beside it, if it was."""

    name: str
    results: Folder
    calibration: Folder | None
    saved: bool  # a baseline: measured at another time

    @property
    def programs(self) -> str:
        """What was measured, in versions: those that the parts told, else those that there were."""
        versions = self.results.plan.versions
        told = {name: each for name, each in versions.items() if isinstance(each, str) and each}
        parts = _texts(versions.get("parts"))
        by_version: dict[str, list[str]] = {}
        for name, version in parts.items():
            by_version.setdefault(version, []).append(name)
        named = {", ".join(names): version for version, names in by_version.items()}
        said = [*told.items(), *(named or _texts(versions.get("programs"))).items()]
        return "; ".join(f"{shown(name)} {shown(each)}" for name, each in said)

    @property
    def machine(self) -> str:
        """What it ran on, in words."""
        told = self.results.plan.machine
        held = told.get("memory_bytes")
        memory = size(held) if isinstance(held, int) else ""
        cores = f"{told['cores']} cores" if isinstance(told.get("cores"), int) else ""
        return ", ".join(filter(None, (shown(str(told.get("cpu", ""))), cores, memory)))


def _texts(value: object) -> dict[str, str]:
    found = value if isinstance(value, dict) else {}
    return {name: each for name, each in found.items() if isinstance(each, str)}


def of(
    named: str, baselines_folder: Path, calibration: Path | None = None, at: tuple[str, str] | None = None
) -> Side:
    """Return the side, of its runs those `at` a level of a factor; raises Problem."""
    saved = named.startswith(BASELINE)
    path = baselines.place(baselines_folder, named.removeprefix(BASELINE)) if saved else Path(named)
    found = folder.read(path)
    if not found.runs:
        raise Problem(
            f"{shown(named)} has no finished run; `inflight experiment resume {shown(str(path))}` goes on"
        )
    if at is not None:
        found = _at(found, *at)
    beside = path / baselines.CALIBRATION
    measured = calibration or (beside if beside.exists() else None)
    name = shown(named) + (f" at {shown(at[0])} = {shown(at[1])}" if at else "")
    return Side(name, found, folder.read(measured) if measured else None, saved)


def _at(found: Folder, factor: str, level: str) -> Folder:
    """Return the folder as if it had no other level of the factor, and so no such factor."""
    levels = folder.factors_of(found).get(factor)
    if levels is None:
        raise Problem(
            f"{found.name} has no factor {shown(factor)}; it has: {_listed(folder.factors_of(found))}"
        )
    if level not in map(written, levels):
        raise Problem(
            f"{shown(factor)} has no level {shown(level)} in {found.name}; it has: {_listed(levels)}"
        )
    kept = [number for number, run in enumerate(found.runs) if written(run.levels.get(factor)) == level]
    planned = [run for run in found.plan.runs if written(run.levels.get(factor)) == level]
    return replace(
        found,
        plan=replace(found.plan, runs=planned),
        runs=[_without(found.runs[number], factor) for number in kept],
        summaries=[
            {**summary, "levels": {name: each for name, each in summary["levels"].items() if name != factor}}
            for summary in (found.summaries[number] for number in kept)
        ],
    )


def _without(run: Run, factor: str) -> Run:
    return replace(run, levels={name: level for name, level in run.levels.items() if name != factor})


def _listed(levels: Iterable[object]) -> str:
    return ", ".join(map(written, levels)) or "none"


def check(a: Side, b: Side) -> None:
    """Raise Problem where a comparison would say nothing."""
    documents = [folder.document_of(side.results) for side in (a, b)]
    if found := plans.differences(*documents):
        raise Problem(plans.refusal(found))
    if a.calibration and b.calibration:
        documents = [folder.document_of(each) for each in (a.calibration, b.calibration)]
        if found := plans.differences(*documents):
            raise Problem(f"the calibration loads differ; {plans.refusal(found)}")


def needs_calibration(a: Side, b: Side) -> str:
    """Return why a calibration has to agree before a difference may be believed, or nothing."""
    if a.saved or b.saved:
        return "a baseline was measured at another time, and a machine has fast and slow hours"
    if other := list(_other_machine(a, b)):
        return f"A and B ran on different machines ({'; '.join(other)})"
    return ""


def _other_machine(a: Side, b: Side) -> Iterator[str]:
    for name in _OF_THE_MACHINE:
        one, other = (side.results.plan.machine.get(name) for side in (a, b))
        if one != other:
            yield f"{name}: {shown(str(one))} and {shown(str(other))}"
