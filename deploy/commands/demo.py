"""`inflight demo`: the whole of Inflight over a network that is started for it."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.errors import Finding


@click.command()
@click.option(
    "--seconds", type=click.IntRange(min=10), help="End so long after the first results, with a summary."
)
@click.option(
    "--fault",
    is_flag=True,
    help="Kill the router in the middle, 12 s after first results; it is started again 8 s later.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the summary here, too.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=".inflight",
    show_default=True,
    help="The directory for all that is started: data, logs.",
)
def command(*, seconds: int | None, fault: bool, json_file: Path | None, state: Path) -> None:
    """Start a network on this machine, with all of Inflight over it, and show what it measures.

    A real Kafka, a real Artemis, a line of three routers (real ones where qdrouterd or skrouterd is on the
    PATH, otherwise stand-ins), probes on five paths, the collectors, the Spark job, the exporter, and
    Prometheus and Grafana where they are found. All of it listens on the loopback address and ends with
    Ctrl-C. Exit status 1: some messages were unaccounted for.
    """
    # Imported here: `--help` must not load Kafka.
    from deploy.demo.run import run  # noqa: PLC0415

    missing = run(seconds=seconds, fault=fault, json_file=json_file, state_dir=state)
    if missing:
        raise Finding(f"{missing} messages are unaccounted for; the logs are in {state / 'logs'}")
