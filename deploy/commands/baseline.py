"""`inflight baseline`: results that later ones are compared with."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, file_okay=False)
_baselines = click.option(
    "--baselines",
    type=_FOLDER,
    default=Path(".inflight/baselines"),
    show_default=True,
    help="Where they are kept: plain folders, fit for git LFS or object storage.",
)


@click.group()
def command() -> None:
    """Keep results by a name, for `inflight compare baseline:NAME FOLDER`."""


@command.command()
@click.argument("name")
@click.argument("folder", type=_FOLDER)
@click.option("--calibration", type=_FOLDER, help="Results of the calibration load that was run beside them.")
@click.option("--replace", "anew", is_flag=True, help="In place of a baseline of that name.")
@_baselines
def save(name: str, folder: Path, calibration: Path | None, baselines: Path, *, anew: bool) -> None:
    """Copy what a comparison needs of a result folder: the plan and the summaries of its runs, no Parquet.

    Without a calibration no later comparison with it will be anything but unclear.

    Example: inflight baseline save main results/main --calibration results/calibration
    """
    from deploy.compare import baselines as kept  # noqa: PLC0415 -- `--help` needs none of it
    from deploy.results import folder as folders  # noqa: PLC0415 -- the same
    from deploy.results import size  # noqa: PLC0415 -- the same

    results = folders.read(folder)
    beside = folders.read(calibration) if calibration else None
    path = kept.save(baselines, name, results, beside, anew=anew)
    count = len(results.runs)
    click.echo(f"{path}: {count} run{'s' * (count != 1)}, {size.said(size.measured(path), results)}")
    click.echo(f"{results.name}, all files: {size.said(size.measured(folder), results)}")
    if beside is None:
        click.echo("no calibration: comparisons with it will be unclear, see --calibration")


@command.command("list")
@_baselines
def list_(baselines: Path) -> None:
    """Show the baselines: when they were measured, how many runs, and whether with a calibration."""
    from datetime import UTC, datetime  # noqa: PLC0415 -- as above

    from collectors.contract.untrusted_text import shown  # noqa: PLC0415 -- the same
    from deploy.compare import baselines as kept  # noqa: PLC0415 -- the same

    found = list(kept.all_of(baselines))
    for each in found:
        if isinstance(each, str):
            click.echo(f"cannot be read: {each}")
            continue
        plan = each.results.plan
        began = datetime.fromtimestamp(plan.began_ns // 1_000_000_000, UTC)
        calibrated = "calibrated" if each.calibrated else "no calibration"
        count = len(each.results.runs)
        about = f"{shown(plan.plan)}, {count} run{'s' * (count != 1)}, {calibrated}"
        click.echo(f"{each.name}  {began:%Y-%m-%d %H:%M} UTC  {about}")
    if not found:
        click.echo(f"no baseline in {baselines}: `inflight baseline save NAME FOLDER` keeps one")
