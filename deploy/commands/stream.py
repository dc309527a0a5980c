"""`inflight stream`: the Spark job in this process."""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

import click

from deploy.errors import Problem
from deploy.options import config_option, job_options, load_config

_log: Final = logging.getLogger("inflight.stream")
_AGAIN_SECONDS: Final = 2


@click.command()
@config_option
@job_options
@click.option("--heap", default="1g", show_default=True, help="Memory of Spark's JVM, like 768m or 2g.")
@click.option("--cores", type=click.IntRange(min=1), help="Cores to use.  [default: all]")
def command(config_file: Path, heap: str, cores: int | None, **options: Any) -> None:
    """Read samples from Kafka, and write live and final windows back to it.

    It goes on where it stopped, whatever ended it: its place and its state are in the checkpoint. With no
    checkpoint it begins with the oldest samples that Kafka has. Where Spark's JVM ends for want of
    memory, another one is started. `inflight submit` runs the same on a cluster.
    """
    # Imported here: `--help` needs no Spark.
    from deploy.parts.foreground import run_in_foreground  # noqa: PLC0415
    from deploy.parts.stream import StreamPart  # noqa: PLC0415

    part = StreamPart(load_config(config_file), heap=heap, cores=cores, **options)
    stop = threading.Event()
    try:
        run_in_foreground(part, stop)
    except Problem as problem:
        if not part.out_of_memory:
            raise
        if not stop.wait(_AGAIN_SECONDS):
            _log.error("%s; starting again", problem)
            # As the same process, but new in all else: PySpark has no second JVM.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 -- itself
