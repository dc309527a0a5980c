"""A result folder, or a saved baseline: what a person may get wrong is told, with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from collectors.contract.untrusted_text import read_json, shown
from dashboards.report.model import FORMAT, MOST_RUNS, Plan, Run
from deploy.errors import Problem

EXPERIMENT: Final = "experiment.json"
PLAN: Final = "plan.yaml"
RUNS: Final = "runs"
SUMMARY: Final = "summary.json"
UNFINISHED: Final = ".part"
MAX_BYTES: Final = 64 << 20  # of a JSON file: 100 paths for 12 hours
MAX_PLAN_BYTES: Final = 1 << 20
_MOST_MISTAKES: Final = 3

_T = TypeVar("_T")
_PLANS: Final = TypeAdapter(Plan)
_SUMMARIES: Final = TypeAdapter(Run)


@dataclass(frozen=True, slots=True)
class Folder:
    """What was read; `summaries` are the runs as they stand in their files, for the statistics."""

    path: Path
    plan: Plan
    plan_text: str
    runs: Sequence[Run]
    summaries: Sequence[Mapping[str, Any]]
    half: Sequence[str]  # runs that were begun and are not whole

    @property
    def name(self) -> str:
        return shown(self.path.name or str(self.path))

    def run_folder(self, run: Run) -> Path:
        return self.path / RUNS / f"{run.number:04}"


def read(path: Path) -> Folder:
    """Return the folder with its finished runs; raises Problem."""
    if not path.is_dir():
        what = "is no folder" if path.exists() else "is not there"
        raise Problem(f"{shown(str(path))} {what}; a result folder is what `inflight experiment run` leaves")
    if not (path / EXPERIMENT).is_file():
        raise Problem(
            f"{shown(str(path))} is no result folder: it has no {EXPERIMENT}, which"
            " `inflight experiment run` writes first"
        )
    plan, _ = _read(path / EXPERIMENT, _PLANS)
    found: dict[int, tuple[Run, Mapping[str, Any]]] = {}
    for folder in _run_folders(path):
        run, summary = _read(folder / SUMMARY, _SUMMARIES, _without_series_of_paths)
        if folder.name != f"{run.number:04}":
            raise Problem(
                f"{shown(str(folder / SUMMARY))} says that it is of run {run.number}: its folder was renamed"
                " or copied; give it its name again, or take it away"
            )
        found[run.number] = run, summary
    runs = [found[number] for number in sorted(found)]
    return Folder(
        path,
        plan,
        _text(path / PLAN),
        [run for run, _ in runs],
        [summary for _, summary in runs],
        sorted(each.name for each in (path / RUNS).glob(f"*{UNFINISHED}")),
    )


def _run_folders(path: Path) -> list[Path]:
    try:
        found = sorted(
            each
            for each in (path / RUNS).iterdir()
            if each.is_dir() and each.suffix != UNFINISHED and each.name.isdecimal()
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Problem(f"{shown(str(path / RUNS))} cannot be read: {error.strerror}") from None
    if len(found) > MOST_RUNS:
        raise Problem(f"{shown(str(path / RUNS))} has {len(found):,} runs; {MOST_RUNS:,} is the most")
    return found


def _without_series_of_paths(summary: dict[str, Any]) -> dict[str, Any]:
    """Leave out what fills the memory where there are many runs of many paths, and nobody reads."""
    figures = summary.get("figures")
    for name, each in figures.items() if isinstance(figures, dict) else ():
        if name != "all" and isinstance(each, dict):
            each.pop("series", None)
    return summary


def _as_it_is(value: dict[str, Any]) -> dict[str, Any]:
    return value


def _read(
    file: Path, form: TypeAdapter[_T], kept: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is
) -> tuple[_T, Mapping[str, Any]]:
    where = shown(str(file))
    try:
        value = read_json(_bytes(file, MAX_BYTES))
    except ValueError as error:
        reason = f"at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else str(error)[:200]
        raise Problem(
            f"{where} is half-written or no JSON: {reason}; take its folder away, and resume"
        ) from None
    if not isinstance(value, dict):
        raise Problem(f"{where} is not of an experiment: it is no JSON object")
    version = value.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise Problem(
            f"{where} has format {version}, of a newer Inflight; this one reads format {FORMAT}: upgrade it"
        )
    if version != FORMAT:
        raise Problem(
            f"{where} is not of an experiment: `format` is {shown(repr(version)):.40}, not {FORMAT}"
        )
    try:
        value = kept(value)
        return form.validate_python(value), value
    except ValidationError as error:
        told = [
            f"{shown('.'.join(map(str, each['loc'])) or 'the file'):.200}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False)[:_MOST_MISTAKES]
        ]
        more = error.error_count() - len(told)
        rest = f"; and {more} more" if more > 0 else ""
        raise Problem(f"{where} is not as an experiment writes it: {'; '.join(told)}{rest}") from None


def _bytes(file: Path, most: int) -> bytes:
    where = shown(str(file))
    try:
        if not file.is_file():
            raise Problem(f"{where} is missing: the run is not whole; take its folder away, and resume")
        with file.open("rb") as data:
            found = data.read(most + 1)
    except OSError as error:
        raise Problem(f"{where} cannot be read: {error.strerror}") from None
    if len(found) > most:
        raise Problem(f"{where} is larger than {most >> 20} MB, which no experiment writes")
    return found


def _text(file: Path) -> str:
    return _bytes(file, MAX_PLAN_BYTES).decode("utf-8", "replace")


def factors_of(found: Folder) -> dict[str, list[Any]]:
    """Return the factors of all planned runs with their levels, in the plan's order where it has one."""
    met: dict[str, list[Any]] = {}
    for run_levels in (run.levels for runs in (found.plan.runs, found.runs) for run in runs):
        for name, level in run_levels.items():
            levels = met.setdefault(name, [])
            if level not in levels:
                levels.append(level)
    told = _told_factors(document_of(found))
    return {
        name: sorted(met[name], key=told[name].index)
        if name in told and all(level in told[name] for level in met[name])
        else met[name]
        for name in [*(name for name in told if name in met), *(name for name in met if name not in told)]
    }


def document_of(found: Folder) -> Mapping[str, Any]:
    """Return the plan as it was run; of a folder that does not have it so, as it was written."""
    if found.plan.document is not None:
        return found.plan.document
    try:
        document = yaml.safe_load(found.plan_text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _told_factors(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    factors = document.get("factors")
    return {
        name: list(levels)  # of named levels their names
        for name, levels in (factors if isinstance(factors, dict) else {}).items()
        if isinstance(name, str) and isinstance(levels, list | dict)
    }
