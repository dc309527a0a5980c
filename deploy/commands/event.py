"""`inflight event`: records what is done to the network on purpose."""

from __future__ import annotations

import time
from pathlib import Path

import click

from collectors.contract import events
from deploy import marks
from deploy.errors import Problem
from deploy.options import DURATION, config_option, load_config


@click.command()
@config_option
@click.option("--path", "paths", multiple=True, help="Paths concerned, like 'east-*'; all unless given.")
@click.option("--for", "duration_ns", type=DURATION, help="How long it goes on from now, like 2h.")
@click.argument("kind", type=click.Choice(events.KINDS))
@click.argument("text")
def command(
    config_file: Path, kind: events.Kind, text: str, paths: tuple[str, ...], duration_ns: int | None
) -> None:
    """Mark the dashboards, now or for so long, with TEXT.

    While `maintenance` goes on, alerts of its paths are quiet, and their messages do not count for
    objectives; it needs --for. It goes to Kafka, or where the config has none, to `events.jsonl` in its
    `state` folder, which `inflight run` reads.

    Example: inflight event maintenance "new router version" --for 2h --path 'east-*'
    """
    config = load_config(config_file)
    if kind == "maintenance" and duration_ns is None:
        raise Problem("say how long the maintenance goes on, like --for 2h")
    now_ns = time.time_ns()
    until_ns = None if duration_ns is None else now_ns + duration_ns
    marks.put(config, events.Event(now_ns, until_ns, kind, paths, text))
