"""`inflight probe`: the ends of paths that this host runs, their records to Kafka."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.options import LISTEN, config_option, load_config, site_option, topics_option


@click.command()
@config_option
@site_option
@click.option("--send", is_flag=True, help="Run only the sending ends (with --receive: both).")
@click.option("--receive", is_flag=True, help="Run only the receiving ends (with --send: both).")
@click.option("--path", "names", multiple=True, help="Only this path; may be given several times.")
@click.option(
    "--number",
    "numbers",
    type=click.IntRange(min=0),
    multiple=True,
    help="Of a path's several senders or receivers only this one, from 0; may be given several times.",
)
@topics_option
@click.option(
    "--listen", type=LISTEN, default="127.0.0.1:9751", show_default=True, help="Address to listen on."
)
def command(
    config_file: Path,
    site: str | None,
    names: tuple[str, ...],
    numbers: tuple[int, ...],
    listen: str,
    *,
    send: bool,
    receive: bool,
    make_topics: bool,
) -> None:
    """Run ends of the config's paths: of all of them, or of those named by --path.

    Start it on each host with --send or --receive, or once with neither where one host does both. Several
    `senders` or `receivers` of a path can be spread over processes and hosts, each with its --number.
    Records wait in the config's `state` folder while Kafka is away, also across restarts.
    """
    # Imported here: `--help` needs none of it.
    from deploy.parts.foreground import run_in_foreground  # noqa: PLC0415
    from deploy.parts.probe import ProbePart  # noqa: PLC0415

    both = send == receive
    run_in_foreground(
        ProbePart(
            load_config(config_file, site),
            names,
            numbers,
            send=send or both,
            receive=receive or both,
            make_topics=make_topics,
            listen=listen,
        )
    )
