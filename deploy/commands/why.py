"""`inflight why`: which hop lost, refused or delayed the messages of a path."""

from __future__ import annotations

import json
import time
from typing import Final

import click

from collectors.config.model import http_url
from collectors.config.units import time_ns
from collectors.contract.records import NUMBERS_BELOW
from deploy.errors import Problem
from deploy.why.ask import ask_archive, ask_exporter
from deploy.why.choose import choose
from deploy.why.text import sentence, text

_FOUND: Final = 1


@click.command()
@click.argument("path")
@click.argument("url", default="http://127.0.0.1:9750", metavar="[URL]")
@click.option("--at", help="A time like 2026-01-31T10:00, or how long ago like 5m; now unless given.")
@click.option("--archive", help="Look into this folder of `--archive` instead of asking an exporter.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(path: str, url: str, at: str | None, archive: str | None, *, as_json: bool) -> None:
    """Say which hop lost, refused or delayed messages of PATH: one sentence, then the hops of its route.

    URL is that of `inflight export` or `inflight run`, http://127.0.0.1:9750 unless given; it knows the
    newest 20 episodes of a day. Of now is what goes on, or ended in the last ten minutes. Times are UTC.
    Exit status: 0 nothing is wrong, 1 messages are missing or slow at that time, 2 it cannot be told.
    """
    now_ns = time.time_ns()
    at_ns = None if at is None else _time_ns(at, now_ns)
    if archive is not None:
        known = ask_archive(archive, path, at_ns, now_ns)
    else:
        try:
            http_url(url)
        except ValueError as error:
            raise Problem(str(error)) from None
        known = ask_exporter(url, path)
    chosen = choose(known, at_ns)
    if as_json:
        found = {
            "path": known.path,
            "at_ns": at_ns,
            "sentence": sentence(chosen),
            "episode": chosen.row,
            "also": list(chosen.also),
            "before": chosen.before,
            "window": known.window,
        }
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        click.echo(text(chosen), nl=False)
    if chosen.wrong:
        raise SystemExit(_FOUND)


def _time_ns(at: str, now_ns: int) -> int:
    try:
        return min(max(time_ns(at, now_ns), 0), NUMBERS_BELOW - 1)
    except ValueError:
        raise Problem(f"--at {at}: write a time like 2026-01-31T10:00, or how long ago like 5m") from None
