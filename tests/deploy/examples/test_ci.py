"""The example of a CI workflow: valid, and its commands are real ones with real options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import deploy
from deploy.cli import main
from deploy.experiment import plan as plans

FOLDER = Path(deploy.__file__).parent / "examples/ci"
WORKFLOW = yaml.safe_load((FOLDER / "compare.yml").read_text())
# YAML reads the key `on` as true.
EVENTS, JOBS = WORKFLOW[True], WORKFLOW["jobs"]


def commands() -> Iterator[list[str]]:
    for job in JOBS.values():
        for step in job["steps"]:
            for line in step.get("run", "").splitlines():
                if line.strip().startswith("inflight "):
                    yield shlex.split(re.split(r" (?:>|\|\|) ", line.strip())[0])[1:]


def test_its_form() -> None:
    """Each step runs something or uses something, on events that there are."""
    assert set(EVENTS) == {"pull_request", "push"}
    for job in JOBS.values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


@pytest.mark.parametrize("arguments", list(commands()), ids=lambda arguments: " ".join(arguments[:3]))
def test_its_commands_are_real(arguments: list[str]) -> None:
    """Sub-commands, options and arguments are taken as they stand."""
    command: click.Command = main
    context = click.Context(command)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments[0])
        assert found is not None, arguments
        command, arguments = found, arguments[1:]
        context = click.Context(command, parent=context)
    command.make_context("inflight", list(arguments))


def test_it_uses_all_of_them() -> None:
    """Calibration, results, comparison, baseline."""
    assert {tuple(arguments[:2]) for arguments in commands()} >= {
        ("experiment", "run"),
        ("experiment", "report"),
        ("compare", "baseline:main"),
        ("baseline", "save"),
    }


@pytest.mark.parametrize("name", ["calibration", "router"])
def test_its_plans_are_right_and_can_be_judged(name: str) -> None:
    """Six repetitions, of at least 30 windows of a second."""
    experiment = plans.read(FOLDER / f"{name}.yaml")
    assert experiment.plan.repetitions == 6
    assert (experiment.plan.phases.steady or 0) >= 30 * 10**9
