"""`inflight report`: the price of a change."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import click

from deploy.errors import Problem
from deploy.options import config_option, load_config


@click.command()
@config_option
@click.option(
    "--since",
    "wanted",
    default="last",
    show_default=True,
    help="The event: words of its text, a time like 2026-01-31T10:00, how long ago, or `last`.",
)
@click.option("--path", "paths", multiple=True, help="Only paths like this, such as 'east-*'.")
@click.option("--archive", help="Rows from this folder instead of Kafka; `run --archive` keeps it.")
@click.option("--prometheus", metavar="URL", help="Also tell the first alert, which only Prometheus knows.")
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write a page, too.")
@click.option("--json", "as_json", is_flag=True, help="All figures as JSON instead of text.")
def command(
    config_file: Path,
    wanted: str,
    paths: tuple[str, ...],
    archive: str | None,
    prometheus: str | None,
    page: Path | None,
    *,
    as_json: bool,
) -> None:
    """Tell what a fault or a deployment cost: lost, down, p99 before and during, which paths.

    Events are those of Kafka, or, without `kafka` in the config, of its `state` folder.

    Example: inflight report --since "router B" --archive rows --html b.html
    """
    # Imported here: `--help` needs none of it.
    from deploy.report import model, sources, words  # noqa: PLC0415 -- as this says
    from deploy.report.make import make  # noqa: PLC0415 -- the same
    from deploy.report.text import text  # noqa: PLC0415 -- the same

    config = load_config(config_file)
    left_out: Counter[str] = Counter()
    recorded = sources.read_events(config, left_out)
    report = make(config, recorded, wanted, time.time_ns(), archive, prometheus, left_out, paths)
    if page is not None:
        from deploy.report.html import html  # noqa: PLC0415 -- the same

        try:
            page.write_text(html(report), encoding="utf-8")
        except OSError as error:
            raise Problem(f"{page} cannot be written: {error.strerror}") from None
    if as_json:
        click.echo(json.dumps(model.as_json(report, words.answer(report)), ensure_ascii=False))
    else:
        click.echo(text(report), nl=False)
