"""Baselines: plain folders with what a comparison needs, small enough for git LFS or object storage."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collectors.contract.untrusted_text import shown
from deploy.errors import Problem
from deploy.results import folder
from deploy.results.folder import EXPERIMENT, PLAN, RUNS, SUMMARY, UNFINISHED, Folder

CALIBRATION: Final = "calibration"
DEFAULT: Final = Path(".inflight/baselines")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Baseline:
    """One that was saved."""

    name: str
    results: Folder
    calibrated: bool


def place(baselines: Path, name: str) -> Path:
    """Return the folder of a baseline that is there; raises Problem."""
    path = _place(baselines, name)
    if not path.is_dir():
        known = ", ".join(_names(baselines)) or "none"
        raise Problem(f"no baseline {shown(name)} is in {shown(str(baselines))}; known: {known}")
    return path


def save(baselines: Path, name: str, results: Folder, calibration: Folder | None, *, anew: bool) -> Path:
    """Copy what a comparison needs; one of that name stays unless `anew`. Raises Problem."""
    path = _place(baselines, name)
    if not results.runs:
        raise Problem(f"{results.name} has no finished run: there is nothing to compare with")
    if path.exists() and not anew:
        raise Problem(f"there is a baseline {name} already; --replace puts this one in its place")
    half, old = (path.with_name(f"{name}{ending}") for ending in (UNFINISHED, ".old"))
    try:
        for left in (half, old):
            shutil.rmtree(left, ignore_errors=True)
        _copy(results, half)
        if calibration is not None:
            _copy(calibration, half / CALIBRATION)
        if path.exists():
            path.rename(old)
        half.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise Problem(f"{shown(str(path))} cannot be written: {error.strerror}") from None
    return path


def all_of(baselines: Path) -> Iterator[Baseline | str]:
    """Yield each baseline by its name, or why one cannot be read."""
    for name in _names(baselines):
        path = baselines / name
        try:
            yield Baseline(name, folder.read(path), (path / CALIBRATION).is_dir())
        except Problem as problem:
            yield f"{name}: {problem.message}"


def _names(baselines: Path) -> list[str]:
    try:
        return sorted(each.name for each in baselines.iterdir() if each.is_dir() and _is_name(each.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Problem(f"{shown(str(baselines))} cannot be read: {error.strerror}") from None


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not name.endswith((UNFINISHED, ".old"))


def _place(baselines: Path, name: str) -> Path:
    if not _is_name(name):
        raise Problem(f"{shown(name)!r} is no name of a baseline: letters, digits, `.`, `_` and `-`")
    return baselines / name


def _copy(results: Folder, to: Path) -> None:
    to.mkdir(parents=True)
    for name in (EXPERIMENT, PLAN):
        shutil.copyfile(results.path / name, to / name)
    for run in results.runs:
        inside = to / RUNS / f"{run.number:04}"
        inside.mkdir(parents=True)
        shutil.copyfile(results.run_folder(run) / SUMMARY, inside / SUMMARY)
    for written in to.rglob("*"):
        if written.is_file():
            _sync(written)


def _sync(file: Path) -> None:
    with file.open("rb") as data:
        os.fsync(data.fileno())
