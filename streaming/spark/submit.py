"""The file that spark-submit runs, with the package as --py-files: `submit.py SETTINGS.json`.

The same code as `inflight stream`; the session, its master and its jars are spark-submit's.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

import streaming
from collectors.http.part_server import ListenError
from collectors.process.worker import Worker
from streaming.spark import job, service, settings
from streaming.spark.checkpoint import CheckpointError
from streaming.spark.failures import UnfitError
from streaming.spark.kafka_options import AccessError

_log: Final = logging.getLogger("inflight.stream")
_MISUSE: Final = 2
_PARENT_SECONDS: Final = 0.2


def main(arguments: list[str]) -> int:
    """Run until a signal comes; returns the exit status, 2 where the job cannot run as it is set."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("inflight").setLevel(logging.INFO)
    try:
        if len(arguments) != 1:
            raise ValueError("give one argument: the settings that `inflight submit` wrote")
        told = settings.decode(Path(arguments[0]).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _log.error("%s", error)
        return _MISUSE
    stop = threading.Event()
    _stop_on_signals(stop)
    parent = os.getppid()
    Worker("parent", lambda: _end_with(parent)).start()
    spark = job.session()
    _stop_on_signals(stop)  # again: Spark has set a handler of its own
    _show_to_workers(spark)
    try:
        service.serve(spark, told, stop)
    except (CheckpointError, AccessError, ListenError, UnfitError) as error:
        _log.error("%s", error)
        return _MISUSE
    finally:
        spark.stop()
    return 0


def _end_with(parent: int) -> None:
    """End with spark-submit: a signal ends its JVM, but not this process, which would hold the port."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(0)  # there is nothing left to end: the JVM is gone


def _show_to_workers(spark: SparkSession) -> None:
    """Set the PYTHONPATH of the worker that Spark starts beside the driver: --py-files does not reach it."""
    environment = spark.sparkContext.environment
    packages = str(Path(streaming.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (packages, environment.get("PYTHONPATH"))))


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(number: int, frame: Any) -> None:  # noqa: ARG001 -- signal's signature
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
