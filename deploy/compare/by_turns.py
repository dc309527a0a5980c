"""A and B measured by turns: what the machine does more slowly in the afternoon is so for both."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path
from typing import Final

from collectors.config.load import ConfigError
from collectors.contract.untrusted_text import shown
from deploy.compare import plans
from deploy.errors import Problem
from deploy.experiment import plan as experiments
from deploy.experiment.folder import EXPERIMENT, Folder
from deploy.experiment.plan import Experiment
from deploy.experiment.runner import Runner, Say

FOLDERS: Final = ("a", "b")


def measure(
    files: tuple[Path, Path], form: str | None, out: Path, stopping: threading.Event, say: Say
) -> tuple[Path, Path] | None:
    """Carry out the runs of both plans that are missing, and return their folders; None: asked to end.

    Each run of A is followed or preceded by the one of B with the same levels. Raises Problem.
    """
    folders = (out / FOLDERS[0], out / FOLDERS[1])
    a, b = (_read(file, form) for file in files)
    if found := plans.differences(a.document, b.document):
        raise Problem(plans.refusal(found))
    if a.plan.repetitions != b.plan.repetitions:
        raise Problem(
            f"by turns both are repeated as often: A has {a.plan.repetitions} repetitions,"
            f" B {b.plan.repetitions}"
        )
    first = _begun(folders[0], a)
    # The runs of B have the order of A's.
    second = _begun(folders[1], dataclasses.replace(b, seed=first.experiment().seed))
    runs = [folder.experiment().runs for folder in (first, second)]
    runners = [
        Runner(folder.experiment(), folder, _named(say, name))
        for folder, name in zip((first, second), "AB", strict=True)
    ]
    for number, pair in enumerate(zip(*runs, strict=True)):
        say(f"pair {number + 1} of {len(runs[0])}")
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            if not runners[side].turn(pair[side], stopping):
                return None
    for folder in (first, second):
        folder.sum_up()
    return folders


def _begun(path: Path, experiment: Experiment) -> Folder:
    """Return the folder, made now, or before by the same plan."""
    if not (path / EXPERIMENT).exists():
        return Folder.new(path, experiment)
    found = Folder(path)
    if json.dumps(found.about()["document"]) != json.dumps(experiment.document):
        raise Problem(f"{shown(str(path))} holds runs of another plan: name another folder by --out")
    return found


def _named(say: Say, name: str) -> Say:
    return lambda text: say(f"{name} {text}")


def _read(file: Path, form: str | None) -> Experiment:
    try:
        return experiments.read(file, form)
    except ConfigError as error:
        raise Problem(f"{shown(str(file))} cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
