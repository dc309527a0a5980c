"""`inflight compare`: did it become better or worse?"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import click

from deploy.errors import Problem
from deploy.signals import stop_on_signals

_FOLDER = click.Path(path_type=Path, file_okay=False)
_INTERRUPTED = 130


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--run", "plans", is_flag=True, help="A and B are plans: measure both, by turns, then compare.")
@click.option("--form", metavar="NAME", help="Of --run: one of the plans' forms, such as small.")
@click.option("--out", type=_FOLDER, help="Of --run: where the results go.  [default: results/compare]")
@click.option(
    "--factor",
    nargs=3,
    metavar="NAME LEVEL_A LEVEL_B",
    help="Compare runs of A at one level with runs of B at another; A and B may be one folder.",
)
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
    form: str | None,
    out: Path | None,
    factor: tuple[str, str, str] | None,
    calibration: Path | None,
    baselines: Path,
    html: Path | None,
    *,
    plans: bool,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Tell whether B is the same as A, better or worse, or that it is unclear, and what would decide it.

    A and B are result folders of `inflight experiment run`, or `baseline:NAME`. Both are of the same plan:
    only its name, how often it is repeated, its bounds and the routers' program may differ, and the level of
    a --factor.

    What was measured at another time, when the machine may have been faster or slower, counts only if a
    calibration load, run beside each side, was as fast both times. Surer is --run, or a --factor of one
    plan: then A and B are measured by turns. Of eight repetitions or more --run compares pairs.

    Example: inflight compare baseline:main results/pr-17 --calibration results/calibration --markdown

    Exit status: 0 same or better, 1 worse, 3 unclear, 2 they cannot be compared, 130 --run was interrupted.
    """
    # Imported here: `--help` needs none of it.
    from deploy import extra  # noqa: PLC0415 -- as this says

    with extra.needed():
        from deploy.compare import judged, page, sides, told  # noqa: PLC0415 -- the same
        from deploy.compare.markdown import markdown  # noqa: PLC0415 -- the same

    if as_markdown and as_json:
        raise Problem("--markdown and --json are one instead of the other")
    if not plans and (form or out):
        raise Problem("--form and --out are of --run")
    if plans:
        a, b = _measured(Path(a), Path(b), form, out or Path("results/compare"))
    name, level_a, level_b = factor or (None, "", "")
    found = judged.compare(
        sides.of(a, baselines, at=(name, level_a) if name else None),
        sides.of(b, baselines, calibration, at=(name, level_b) if name else None),
    )
    if html is not None:
        page.write(html, found)
    if as_json:
        click.echo(json.dumps(found.as_json(), ensure_ascii=False))
    else:
        click.echo(markdown(found) if as_markdown else told.text(found), nl=False)
    click.get_current_context().exit(found.exit_status)


def _measured(a: Path, b: Path, form: str | None, out: Path) -> tuple[str, str]:
    from deploy.compare.by_turns import measure  # noqa: PLC0415 -- only --run needs all that a run is made of

    def say(text: str) -> None:
        click.echo(text, err=True)  # what is compared goes to standard output

    stopping = threading.Event()
    stop_on_signals(stopping)
    folders = measure((a, b), form, out, stopping, say)
    if folders is None:
        say("interrupted; the same command goes on with the runs that are missing")
        raise SystemExit(_INTERRUPTED)
    return str(folders[0]), str(folders[1])
