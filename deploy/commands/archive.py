"""`inflight archive`: final rows of the past, from the Parquet files that the job keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from collectors.config.units import time_ns
from collectors.contract.records import NUMBERS_BELOW
from collectors.contract.window_rows import CLASSES
from deploy.errors import Problem
from streaming.archive.read import ArchiveError, Question, read
from streaming.archive.text import as_csv, as_hlog, moment

_SHOWN: Final = 1_000  # rows of a table on a screen
_TEXTS: Final[Mapping[str, Callable[[Iterable[Mapping[str, Any]]], Iterator[str]]]] = {
    "csv": as_csv,
    "hlog": as_hlog,
    "service-hlog": lambda rows: as_hlog(rows, "service"),
    "json": lambda rows: (f"{row['row']}\n" for row in rows),
}


@click.command()
@click.argument("archive")
@click.argument("paths", nargs=-1)
@click.option(
    "--since", default="1h", show_default=True, help="A time like 2026-01-31T10:00, or how long ago."
)
@click.option("--until", help="A time, or how long ago; now unless given.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["table", *_TEXTS]),
    default="table",
    show_default=True,
    help="hlog is HdrHistogram's log of response latencies.",
)
@click.option("--revisions", is_flag=True, help="Every revision of a window, not only the newest.")
def command(
    archive: str, paths: tuple[str, ...], since: str, until: str | None, form: str, *, revisions: bool
) -> None:
    """Show the windows of PATHS (all unless given) in the folder ARCHIVE.

    `inflight stream --archive FOLDER` keeps it. Times are UTC. Exit status 2: there is no archive there.
    """
    now_ns = time.time_ns()
    question = Question(
        from_ns=_time_ns(since, now_ns, "--since"),
        to_ns=_time_ns(until, now_ns, "--until") if until else now_ns,
        paths=paths,
        all_revisions=revisions,
    )
    try:
        rows = read(archive, question)
        if form == "table":
            _show(rows)
        else:
            for line in _TEXTS[form](rows):
                click.echo(line, nl=False)
    except ArchiveError as error:
        raise Problem(str(error)) from None


def _time_ns(text: str, now_ns: int, option: str) -> int:
    """Returns the time, or the nearest one that a window can have."""
    try:
        return min(max(time_ns(text, now_ns), 0), NUMBERS_BELOW)
    except ValueError:
        raise Problem(
            f"{option} {text}: write a time like 2026-01-31T10:00, or how long ago like 2h"
        ) from None


def _show(rows: Iterator[dict[str, Any]]) -> None:
    table = Table("path", "window", "sent", *CLASSES, "p50", "p99", "max")
    for column in table.columns[2:]:
        column.justify = "right"
    shown = list(islice(rows, _SHOWN))
    for row in shown:
        counts = (f"{row[name]:,}" for name in ("sent", *CLASSES))
        latencies = (_ms(row[name]) for name in ("p50_ns", "p99_ns", "max_ns"))
        start = moment(row["window_start_ns"]) + ("" if row["complete"] else " *")
        table.add_row(row["path"], start, *counts, *latencies)
    console = Console()
    console.print(table)
    console.print(f"{len(shown)} windows; * not all of it was observed", highlight=False)
    if next(rows, None) is not None:
        console.print(f"There are more than {_SHOWN}: narrow the time, or take --as csv", highlight=False)


def _ms(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e6:,.2f} ms"
