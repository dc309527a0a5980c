"""`inflight compare`: did it become better or worse?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from deploy.errors import Problem

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--calibration", type=_FOLDER, help="Results of the calibration load that was run beside B.")
@click.option(
    "--baselines",
    type=_FOLDER,
    default=Path(".inflight/baselines"),
    show_default=True,
    help="Where `inflight baseline` keeps them.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="As Markdown, for a pull request.")
@click.option("--json", "as_json", is_flag=True, help="All figures as JSON instead of text.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page, too.")
def command(
    a: str,
    b: str,
    calibration: Path | None,
    baselines: Path,
    html: Path | None,
    *,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Tell whether B is the same as A, better or worse, or that it is unclear, and what would decide it.

    A and B are result folders of `inflight experiment run`, or `baseline:NAME`. Both are of the same plan:
    only its name, how often it is repeated, its bounds and the routers' program may differ.

    A baseline was measured at another time, when the machine may have been faster or slower: it counts only
    if a calibration load, run beside each side, was as fast both times.

    Example: inflight compare baseline:main results/pr-17 --calibration results/calibration --markdown

    Exit status: 0 same or better, 1 worse, 3 unclear, 2 they cannot be compared.
    """
    # Imported here: `--help` needs none of it.
    from deploy.results import extra  # noqa: PLC0415 -- as this says

    with extra.needed():
        from deploy.compare import judged, page, sides, told  # noqa: PLC0415 -- the same
        from deploy.compare.markdown import markdown  # noqa: PLC0415 -- the same

    if as_markdown and as_json:
        raise Problem("--markdown and --json are one instead of the other")
    found = judged.compare(sides.of(a, baselines), sides.of(b, baselines, calibration))
    if html is not None:
        page.write(html, found)
    if as_json:
        click.echo(json.dumps(found.as_json(), ensure_ascii=False))
    else:
        click.echo(markdown(found) if as_markdown else told.text(found), nl=False)
    click.get_current_context().exit(found.exit_status)
