"""`inflight status`: a whole mesh and its queues as they are now, worst first."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from collectors.config.model import MECHANISMS
from deploy import logs
from deploy.errors import Problem
from deploy.options import load_config
from deploy.status.look import look
from deploy.status.screen import ROWS, screen
from deploy.status.targets import config_of, logins_of

_FINDINGS: Final = 1

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("-c", "--config", "config_file", type=_file, help="Take meshes and brokers from a config file.")
@click.option("--user", help="Where there is one URL: the user to log in as.")
@click.option("--password-file", type=_file, help="File with the user's password as its one line.")
@click.option(
    "--login",
    "logins",
    type=(str, str, _file),
    multiple=True,
    metavar="URL USER FILE",
    help="One more URL, with a user and password file of its own; as often as needed.",
)
@click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    default="PLAIN",
    show_default=True,
    help="How users log in to routers.",
)
@click.option("--ca", type=_file, help="Trust these authorities (PEM).")
@click.option("--cert", type=_file, help="Client certificate (PEM), with --key.")
@click.option("--key", type=_file, help="The certificate's private key (PEM).")
@click.option("--origin", help="Origin header for brokers; the URL's own host unless given.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3_600),
    default=10.0,
    show_default=True,
    help="Seconds to wait at the most.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Links and queues to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(
    urls: tuple[str, ...],
    config_file: Path | None,
    logins: tuple[tuple[str, str, Path], ...],
    timeout: float,
    rows: int,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what the routers and brokers at URLs say of themselves: what is wrong first, then all of it.

    URL is amqp(s)://HOST:PORT of any router, the rest of its mesh is found through it, or http(s)://… of a
    broker's Jolokia. Routers that the first URL has no way to are asked through the others. Rates are those
    of one second; what status itself asks and is answered is among them. A password is sent to its own URL
    only. Exit status: 1 when something is down or messages are being lost.

    \b
    inflight status amqp://router-east:5672 http://artemis-a:8161/console/jolokia
    inflight status amqp://router-east:5672 --login https://artemis:8161/console/jolokia monitor FILE
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    if bool(urls or logins) == bool(config_file):
        raise Problem("give URLs, or a config file with -c")
    config = load_config(config_file) if config_file else config_of(logins_of(urls, logins, options), options)
    with logs.quiet("inflight.collect", logging.ERROR):  # what goes wrong is among the findings
        found = look(config, timeout, one_mesh=config_file is not None)
        if as_json:
            click.echo(json.dumps(found.as_json(), indent=2))
        else:
            Console().print(screen(found, rows))
    if any(finding.level == "bad" for finding in found.findings):
        raise SystemExit(_FINDINGS)
