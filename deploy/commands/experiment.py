"""`inflight experiment`: a plan's runs, and the folder of results that they leave."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.errors import Problem
from deploy.signals import stop_on_signals

if TYPE_CHECKING:  # `--help` must not load all that a run is made of
    from deploy.experiment.plan import Experiment
    from deploy.experiment.runner import Runner

_MISTAKES = 1

_plan = click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
_form = click.option("--form", metavar="NAME", help="One of the plan's forms, such as small.")


@click.group()
def command() -> None:
    """Answer a question about a network by measuring: runs in random order, with their loads and faults.

    A plan (deploy/experiment/README.md) says the question, the network, the load, what differs between runs,
    and what must hold. All that was measured stays in one folder, which pandas reads.
    """


@command.command()
@_plan
@_form
def check(plan: Path, form: str | None) -> None:
    """Tell every mistake of a plan; else how many runs it has, how long they take, and how much disk.

    Exit status: 0, or 1 for mistakes.
    """
    from collectors.config.load import ConfigError  # noqa: PLC0415 -- as said above
    from deploy.experiment import plan as plans  # noqa: PLC0415 -- the same
    from deploy.experiment import words  # noqa: PLC0415 -- the same

    try:
        experiment = plans.read(plan, form)
    except ConfigError as error:
        for mistake in error.mistakes:
            click.echo(mistake, err=True)
        raise SystemExit(_MISTAKES) from None
    for line in words.takes(experiment):
        click.echo(line)


def _read(plan: Path, form: str | None) -> Experiment:
    from collectors.config.load import ConfigError  # noqa: PLC0415 -- as said above
    from deploy.experiment import plan as plans  # noqa: PLC0415 -- the same

    try:
        return plans.read(plan, form)
    except ConfigError as error:
        raise Problem("the plan cannot be used:\n  " + "\n  ".join(error.mistakes)) from None


@command.command()
@_plan
@_form
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of results, a new one.  [default: results/NAME-TIME]",
)
def run(plan: Path, form: str | None, out: Path | None) -> None:
    """Carry out all runs of a plan.

    Says first what it will take. Ctrl-C ends it and leaves the finished runs; so does kill -9, and nothing of
    the network goes on. `resume` carries out what is missing.

    Exit status: 0 all that must hold held, 1 something did not, 2 it could not be run, 130 interrupted.
    """
    from deploy.experiment import folder, runner  # noqa: PLC0415 -- as said above

    experiment = _read(plan, form)
    made = folder.Folder.new(out or folder.default(experiment.plan.name), experiment)
    _carry_out(runner.Runner(experiment, made, click.echo), made.path)


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
def resume(folder: Path) -> None:
    """Carry out the runs that are missing in a folder of results.

    Exit status: as `run`, of all runs.
    """
    from collectors.config.load import ConfigError  # noqa: PLC0415 -- as said above
    from deploy.experiment import folder as folders  # noqa: PLC0415 -- the same
    from deploy.experiment import runner  # noqa: PLC0415 -- the same

    found = folders.Folder(folder)
    try:
        experiment = found.experiment()
    except ConfigError as error:
        raise Problem(f"{folder} cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
    _carry_out(runner.Runner(experiment, found, click.echo), folder)


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it there.  [default: report.html in the folder]",
)
def report(folder: Path, page: Path | None) -> None:
    """Write the report of a folder of results: one HTML file, the answer first, which needs no network.

    Of an experiment that goes on, or was ended, it tells what there is by now. Says the answer, too.
    """
    _write_report(folder, page)


def _write_report(folder: Path, page: Path | None = None) -> None:
    from deploy import extra  # noqa: PLC0415 -- as said above

    with extra.needed():
        from deploy.results import report as reports  # noqa: PLC0415 -- the same
    answer, file = reports.write(folder, page)
    click.echo(answer)
    click.echo(f"report: {file}")


def _carry_out(runner: Runner, folder: Path) -> None:
    from deploy.experiment.runner import INTERRUPTED  # noqa: PLC0415 -- as said above

    stopping = threading.Event()
    stop_on_signals(stopping)
    try:
        status = runner.run(stopping)
        if status != INTERRUPTED:
            _report_if_possible(folder)
    except click.ClickException:
        raise
    except Exception:
        # 1 is for what must hold and did not.
        logging.getLogger("inflight.experiment").exception("this is a mistake of Inflight's own")
        status = Problem.exit_code
    raise SystemExit(status)


def _report_if_possible(folder: Path) -> None:
    """Write the report beside what was measured, which is whole without it."""
    try:
        _write_report(folder)
    except Problem as problem:
        click.echo(f"no report: {problem.message}")
