"""The part `stream`: the Spark job on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import threading
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from collectors.config.model import Config
from collectors.process.private_files import private_folder
from collectors.process.worker import Worker
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.parts.job_settings import job_settings
from deploy.parts.part import Part, state_problem
from streaming.spark import job, service
from streaming.spark.checkpoint import CheckpointError
from streaming.spark.failures import OutOfMemoryError, UnfitError, jvm_has_ended
from streaming.spark.kafka_options import AccessError

_log: Final = logging.getLogger("inflight.stream")
_HEAP: Final = re.compile(r"\d+[mg]")


class StreamPart(Part):
    """The job in a local Spark; `options` are those of `job_settings`. It listens from `start` on."""

    def __init__(self, config: Config, *, heap: str = "1g", cores: int | None = None, **options: Any) -> None:
        super().__init__()
        settings = job_settings(config, **options)
        if options.get("checkpoint") is None:
            try:
                private_folder(Path(settings.checkpoint))
            except OSError as error:
                raise state_problem(config.state, error) from None
        here = cores or os.cpu_count() or 1
        self._settings = dataclasses.replace(settings, suited_lanes=min(settings.suited_lanes, here))
        if not _HEAP.fullmatch(heap):
            raise Problem(f"--heap {heap}: write it like 768m or 2g")
        # A place more than cores: the attribution's task is not to wait for a lane's, and no lane for it.
        self._heap, self._master = heap, f"local[{here + 1}]"
        self._url = ""
        self._service: service.Service | None = None
        self._stopping = threading.Event()
        self._worker = Worker("job", self._run, again=False)
        self._failure: str | None = None
        self.out_of_memory = False  # then a new process can go on: PySpark starts no second JVM

    @property
    def url(self) -> str:
        return self._url

    @property
    def ended(self) -> bool:
        return self._worker.ended.is_set()

    @property
    def failure(self) -> str | None:
        return self._failure or self._worker.problem

    def stop(self) -> None:
        self._stopping.set()
        self._worker.join()
        super().stop()

    def _start(self) -> None:
        jars = artifacts.ensure().jars("spark")
        with self._making() as taken:
            try:
                spark = job.session(jars, local_heap=self._heap, master=self._master)
                taken.callback(_end, spark)
                self._service, server = service.served(spark, self._settings)
            except (Py4JError, ConnectionError) as error:
                if not jvm_has_ended():
                    raise
                raise Problem(_jvm_ended(error)) from None
            taken.callback(server.close)
        self._url = server.url
        self._worker.start()

    def _why_not_ready(self) -> str | None:
        return self._service.not_ready() if self._service else "not started yet"

    def _run(self) -> None:
        assert self._service is not None  # noqa: S101 -- made before the thread, for the type checker
        try:
            self._service.run(self._stopping)
        except (CheckpointError, AccessError, UnfitError) as error:
            self._failure = str(error)
        except OutOfMemoryError as error:
            self.out_of_memory, self._failure = True, str(error)
        except Exception as error:
            if not jvm_has_ended():
                raise
            self._failure = _jvm_ended(error)


def _jvm_ended(error: Exception) -> str:
    return (
        f"Spark's JVM has ended, for the reason it gave above or was killed: {type(error).__name__};"
        " a new start goes on from the checkpoint"
    )


def _end(spark: SparkSession) -> None:
    with contextlib.suppress(Py4JError, ConnectionError):
        spark.stop()
    _log.info("ended")
