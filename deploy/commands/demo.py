"""`inflight demo`: the whole of Inflight over a network that is started for it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from deploy.errors import Finding

FAULTS: Final = ("killed", "flood", "no-consumer", "expired", "full", "stalled", "slow")


@click.command()
@click.option(
    "--seconds", type=click.IntRange(min=10), help="End so long after the first results, with a summary."
)
@click.option(
    "--fault",
    is_flag=False,
    flag_value=FAULTS[0],
    type=click.Choice(FAULTS),
    help="Break the network 12 s after first results, mend it, and say which hop it was. Without a name the"
    " router in the middle is killed.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the summary here, too.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=".inflight",
    show_default=True,
    help="The directory for all that is started: data, logs.",
)
def command(*, seconds: int | None, fault: str | None, json_file: Path | None, state: Path) -> None:
    """Start a network on this machine, with all of Inflight over it, and show what it measures.

    A real Kafka, a real Artemis, a line of three routers (real ones where qdrouterd or skrouterd is on the
    PATH, otherwise stand-ins), probes on five paths, the collectors, the Spark job, the exporter, and
    Prometheus and Grafana where they are found. All of it listens on the loopback address and ends with
    Ctrl-C. Exit status 1: some messages were unaccounted for.

    \b
    Faults, of which each ends with the sentence of `inflight why`:
      killed       the router in the middle is killed
      flood        a receiver has too little credit: its router drops presettled messages
      no-consumer  a queue has no consumer: its messages expire
      expired      a consumer is slower than its queue is filled: some expire
      full         an address of the broker is full: it rejects
      stalled      the link between two routers stands still
      slow         a consumer is slow for a while: late, not lost
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    # Imported here: `--help` must not load Kafka.
    from deploy.demo.run import run  # noqa: PLC0415

    missing = run(seconds=seconds, fault=fault, json_file=json_file, state_dir=state)
    if missing:
        raise Finding(f"{missing} messages are unaccounted for; the logs are in {state / 'logs'}")
