"""`inflight stream`: the Spark job in this process."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any, Final

import click

from collectors.http.monitoring import ListenError
from collectors.process.private_files import private_folder
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.options import config_option, load_config, no_state
from deploy.parts.job_settings import job_options, job_settings
from deploy.signals import stop_on_signals

_log: Final = logging.getLogger("inflight.stream")
_AGAIN_SECONDS: Final = 2
_HEAP: Final = re.compile(r"\d+[mg]")


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
    config = load_config(config_file)
    settings = job_settings(config, **options)
    if options["checkpoint"] is None:
        try:
            private_folder(Path(settings.checkpoint))
        except OSError as error:
            raise no_state(config, error) from None
    here = cores or os.cpu_count() or 1
    settings = dataclasses.replace(settings, suited_lanes=min(settings.suited_lanes, here))
    if not _HEAP.fullmatch(heap):
        raise Problem(f"--heap {heap}: write it like 768m or 2g")
    stop = threading.Event()
    stop_on_signals(stop)
    parts = artifacts.ensure()
    # Imported here: `inflight stream --help` needs no Spark.
    from py4j.protocol import Py4JError, Py4JNetworkError  # noqa: PLC0415

    from streaming.spark import job, service  # noqa: PLC0415
    from streaming.spark.checkpoint import CheckpointError  # noqa: PLC0415
    from streaming.spark.failures import OutOfMemoryError, UnfitError  # noqa: PLC0415
    from streaming.spark.kafka_options import AccessError  # noqa: PLC0415

    spark = job.session(parts.jars("spark"), local_heap=heap, master=f"local[{cores or '*'}]")
    stop_on_signals(stop)  # again: Spark has set a handler of its own
    try:
        service.serve(spark, settings, stop)
    except (CheckpointError, AccessError, ListenError, UnfitError) as error:
        raise Problem(str(error)) from None
    except (Py4JNetworkError, ConnectionError) as error:
        raise Problem(
            f"Spark's JVM has ended, for the reason it gave above or was killed: {type(error).__name__};"
            " a new start goes on from the checkpoint"
        ) from None
    except OutOfMemoryError as error:
        if not stop.wait(_AGAIN_SECONDS):
            _log.error("%s; starting again", error)
            # As the same process, but new in all else: PySpark has no second JVM.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 -- itself
    finally:
        with contextlib.suppress(Py4JError, ConnectionError):
            spark.stop()
        _log.info("ended")
