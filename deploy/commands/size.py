"""`inflight size`: how large a deployment has to be."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from collectors.config.units import duration_ns, rate_per_second
from deploy.errors import Problem
from streaming.sizing import need


@click.command()
@click.option("--paths", type=click.IntRange(min=1), required=True, help="How many paths.")
@click.option("--rate", default="10/s", show_default=True, help="Messages of each, like 10/s.")
@click.option("--window", default="5s", show_default=True, help="Length of a window.")
def command(paths: int, rate: str, window: str) -> None:
    """Estimate the Spark job and its topics, from what the benchmark measured.

    The cores are for a steady load with a trigger of one second, and room to catch up after a stop. Bytes
    are of one copy.
    """
    try:
        messages = rate_per_second(rate)
        window_seconds = duration_ns(window) / 1e9
    except ValueError as error:
        raise Problem(str(error)) from None
    if not messages:
        raise Problem("--rate 0 is as fast as possible: give the rate that you expect")
    found = need(paths, messages, window_seconds=window_seconds)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("samples", f"{paths * messages:,.0f} /s")
    table.add_row("cores for the job", f"{found.cores}")
    table.add_row("  --lanes", f"{found.cores}")
    table.add_row("partitions of inflight.samples", f"{found.kafka_partitions}")
    table.add_row("bytes into Kafka", f"{_bytes(found.kafka_bytes_a_second)}/s")
    table.add_row("inflight.samples with its 24 hours", _bytes(found.samples_topic_bytes))
    table.add_row("final windows", f"{found.windows_a_day:,} a day")
    Console().print(table)


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:  # noqa: PLR2004 -- SI units
            return f"{count:.3g} {unit}"
        count /= 1_000
    return f"{count:,.3g} TB"
