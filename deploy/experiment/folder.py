"""The folder of results: whole runs only, each with its name once it is finished. README.md has its form."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self

from collectors.process.private_files import private_folder, replace
from deploy import extra
from deploy.errors import Problem
from deploy.experiment import jitter, machine
from deploy.experiment import plan as plans
from deploy.experiment.order import Run
from deploy.experiment.plan import Experiment

FORMAT: Final = 1
PLAN: Final = "plan.yaml"
EXPERIMENT: Final = "experiment.json"
SUMMARY: Final = "summary.json"
RUNS: Final = "runs"
SCRATCH: Final = ".running"  # of the run that is under way
_LOCK: Final = ".lock"
_PART: Final = ".part"
_RESULTS: Final = Path("results")


def default(name: str) -> Path:
    """Return a folder of the plan's name and the time."""
    return _RESULTS / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


@dataclass(frozen=True)
class Folder:
    path: Path

    @classmethod
    def new(cls, path: Path, experiment: Experiment) -> Self:
        """Make it, with the plan and its runs; raises Problem where there is something already."""
        try:
            if path.exists() and any(path.iterdir()):
                raise Problem(
                    f"{path} is not empty: `resume` goes on with it, or name another folder by --out"
                )
            private_folder(path / RUNS)
            made = cls(path)
            replace(path / PLAN, experiment.text.encode())
            made.note(_about(experiment))
        except OSError as error:
            raise _problem(path, error) from None
        return made

    def about(self) -> dict[str, Any]:
        """Return what was noted of the experiment; raises Problem where this is no such folder."""
        file = self.path / EXPERIMENT
        try:
            found = json.loads(file.read_bytes())
        except FileNotFoundError:
            raise Problem(f"{self.path} holds no results: there is no {EXPERIMENT}") from None
        except (OSError, ValueError) as error:
            raise Problem(f"{file} cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise Problem(f"{file} is not of format {FORMAT}, which this version reads")
        return found

    def note(self, about: dict[str, Any]) -> None:
        replace(self.path / EXPERIMENT, _json(about))

    def experiment(self) -> Experiment:
        """Return the experiment as it was begun; raises ConfigError or Problem."""
        about = self.about()
        text = (self.path / PLAN).read_text(encoding="utf-8")
        runs = [Run(**run) for run in about["runs"]]
        return plans.again(text, about["document"], about["seed"], Path(about["beside"]), runs)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from it; raises Problem where somebody works in it already."""
        with (self.path / _LOCK).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Problem(f"{self.path}: another process carries out runs of it just now") from None
            yield

    def missing(self, runs: list[Run]) -> list[Run]:
        return [run for run in runs if not (self._of(run) / SUMMARY).exists()]

    def begin(self, run: Run) -> Path:
        """Return an empty folder for a run; what an earlier try left is gone."""
        part = self._of(run).with_name(run.folder + _PART)
        shutil.rmtree(part, ignore_errors=True)
        return private_folder(part)

    def finish(self, run: Run, summary: dict[str, Any]) -> None:
        """Give a run its name, now that it is whole, and take it into the summary of all."""
        part = self._of(run).with_name(run.folder + _PART)
        replace(part / SUMMARY, _json(summary))
        part.rename(self._of(run))
        self.sum_up()

    def give_up(self, run: Run) -> None:
        shutil.rmtree(self._of(run).with_name(run.folder + _PART), ignore_errors=True)

    def summaries(self) -> list[dict[str, Any]]:
        """Return those of the finished runs, in order."""
        files = sorted((self.path / RUNS).glob(f"[0-9]*[0-9]/{SUMMARY}"))
        return [json.loads(file.read_bytes()) for file in files]

    def sum_up(self) -> None:
        about, runs = self.about(), self.summaries()
        whole: dict[str, Any] = {"format": FORMAT, "plan": about["plan"], "runs": runs}
        if spread := jitter.over_runs(runs):
            whole["jitter"] = spread
        if without := about["document"].get("tiers"):
            whole["tiers"] = _tiers().tables(without, runs)
        replace(self.path / SUMMARY, _json(whole))

    def told(self) -> Iterator[str]:
        """Yield what all runs together say, for people."""
        if tables := json.loads((self.path / SUMMARY).read_bytes()).get("tiers"):
            yield from _tiers().lines(tables)

    def _of(self, run: Run) -> Path:
        return self.path / RUNS / run.folder


def _tiers() -> ModuleType:
    with extra.needed():
        from deploy.experiment import tiers  # noqa: PLC0415 -- SciPy is an extra
    return tiers


def _about(experiment: Experiment) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "plan": experiment.plan.name,
        "says": experiment.plan.says.strip(),
        "seed": experiment.seed,
        "began_ns": time.time_ns(),
        "versions": machine.versions(experiment.beside),
        "machine": machine.machine(),
        "ceiling": None,
        "runs": [run._asdict() for run in experiment.runs],
        "document": experiment.document,
        "beside": os.path.abspath(experiment.beside),  # noqa: PTH100 -- links stay as they are
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _problem(path: Path, error: OSError) -> Problem:
    return Problem(f"{path} cannot be written: {error.strerror or error}; let this user write there")
