"""`inflight check`: is this config right?"""

from __future__ import annotations

from pathlib import Path

import click

from collectors.config import load, paths
from deploy.errors import Finding


@click.command()
@click.argument(
    "file", type=click.Path(path_type=Path), envvar="INFLIGHT_CONFIG", default="inflight.yaml", required=False
)
@click.option(
    "--live",
    is_flag=True,
    help="Also log in everywhere and send a message along each path, to all of its targets.",
)
def command(file: Path, *, live: bool) -> None:
    """Tell every mistake in FILE at once, with line, key and reason.

    FILE is ./inflight.yaml unless given. Exit status: 0 the config is right, 1 it is not.
    """
    try:
        config = load.load(file)
    except load.ConfigError as error:
        for mistake in error.mistakes:
            click.echo(mistake)
        count = len(error.mistakes)
        raise Finding(f"{count} mistake{'s' if count > 1 else ''} in {file}") from None
    found = paths.resolve(config)
    click.echo(
        f"{file}: right. {len(found)} paths, {len(config.meshes)} meshes, {len(config.brokers)} brokers, "
        f"{len(config.endpoints)} endpoints; results {'through Kafka' if config.kafka else 'in one process'}."
    )
    if live:
        # Imported here: a plain check needs no AMQP.
        from deploy.live_check import check_live  # noqa: PLC0415

        check_live(config)
