"""Runs the job's queries and serves its /metrics until told to stop."""

from __future__ import annotations

import functools
import itertools
import logging
import time
from collections.abc import Callable
from threading import Event
from typing import Final

from prometheus_client import CollectorRegistry
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from collectors.http.metric_factory import gauge
from collectors.http.part_server import PartServer
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker, joined
from streaming.spark import job
from streaming.spark.checkpoint import CheckpointError
from streaming.spark.detour import Detour
from streaming.spark.failures import jvm_process, out_of_memory
from streaming.spark.kafka_options import AccessError
from streaming.spark.lanes import Layout
from streaming.spark.progress import Listener, Progress
from streaming.spark.query import Query
from streaming.spark.samples_topic import TopicError, tell_of_settings
from streaming.spark.settings import JobSettings
from streaming.spark.supervised import BACKOFF_SECONDS, SupervisedQuery

_log: Final = logging.getLogger("inflight.stream")

_SUPERVISE_SECONDS: Final = 0.5
_STOP_SECONDS: Final = 4.0
_WATCH_SECONDS: Final = 60

MakeQueries = Callable[[JobSettings, Layout], list[Query]]


def serve(
    spark: SparkSession,
    settings: JobSettings,
    stopping: Event,
    serving: Callable[[str], None] = lambda _: None,
    queries: MakeQueries = job.queries,
) -> None:
    """Run the queries until `stopping` is set; `serving` gets the URL of /metrics.

    Raises CheckpointError, AccessError, UnfitError or ListenError where the job cannot run as it is set, and
    OutOfMemoryError where the JVM is to be started again.
    """
    service, server = served(spark, settings, queries)
    serving(server.url)
    try:
        service.run(stopping)
    finally:
        server.close()


def served(
    spark: SparkSession, settings: JobSettings, queries: MakeQueries = job.queries
) -> tuple[Service, PartServer]:
    """Make the job, to be run, and the server of its /metrics, to be closed."""
    registry = CollectorRegistry()
    gauge("build_info", registry).labels("stream", settings.version, settings.config_hash).set(1)
    service = Service(spark, settings, Progress(registry), queries)
    server = PartServer(settings.listen, registry, service.not_ready)
    _log.info("serving %s/metrics", server.url)
    return service, server


class Service:
    """All queries of the job, under supervision."""

    def __init__(
        self, spark: SparkSession, settings: JobSettings, progress: Progress, queries: MakeQueries
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._progress = progress
        self._make_queries = queries
        self._trouble: str | None = "not started yet"
        self._queries: list[SupervisedQuery] = []
        self._workers: list[Worker] = []
        self._listener = Listener(progress, self._name_of)
        spark.streams.addListener(self._listener)

    def not_ready(self) -> str | None:
        """Returns why the job is not at work, or None."""
        trouble = self._trouble or next((query.trouble for query in self._queries if query.trouble), None)
        return joined(trouble, *(worker.problem for worker in self._workers))

    def run(self, stopping: Event) -> None:
        """Run until `stopping` is set; raises what `serve` does."""
        for name, work in job.background(self._settings).items():
            self._begin(name, functools.partial(work, self._spark, stopping))
        try:
            self._prepare(stopping)
            while not stopping.is_set():
                for query in self._queries:
                    query.supervise(self._spark, self._settings)
                stopping.wait(_SUPERVISE_SECONDS)
        except (Py4JError, OSError):
            error = out_of_memory()
            if error is None:
                raise
            raise error from None
        finally:
            self._end()

    def _end(self) -> None:
        process = jvm_process()
        if process is not None and process.poll() is not None:
            return
        deadline = time.monotonic() + _STOP_SECONDS
        for query in self._queries:
            query.stop(deadline)
        self._spark.streams.removeListener(self._listener)

    def _prepare(self, stopping: Event) -> None:
        """Find out how the job is spread, and with that its queries; wait while Kafka does not tell."""
        trouble = Trouble(_log)
        for wait in itertools.chain(BACKOFF_SECONDS, itertools.repeat(BACKOFF_SECONDS[-1])):
            if stopping.is_set():
                return
            try:
                layout = job.find_layout(self._spark, self._settings)
                queries = self._make_queries(self._settings, layout)
            except TopicError as error:
                self._trouble = str(error)
                trouble.tell(f"{error}; it is tried again")
                stopping.wait(wait)
                continue
            self._trouble = None
            break
        topics = dict.fromkeys(topic for query in queries for topic in query.topics)
        tell_of_settings(self._settings.kafka, topics)
        for query in queries:
            detour = Detour(self._settings, query, len(queries))
            self._queries.append(SupervisedQuery(query, detour, self._progress))
        self._begin("topic", lambda: self._watch_topic(stopping))

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        self._workers.append(Worker(name, work))
        self._workers[-1].start()

    def _watch_topic(self, stopping: Event) -> None:
        """Tell when somebody gave the samples topic more partitions: nothing reads them."""
        while not stopping.wait(_WATCH_SECONDS):
            try:
                job.find_layout(self._spark, self._settings)
            except CheckpointError as error:
                self._trouble = str(error)
                _log.error("%s", error)
            except (TopicError, AccessError, Py4JError) as error:
                _log.debug("%s", error)  # the queries say themselves that Kafka is away

    def _name_of(self, identity: str) -> str | None:
        return next((each.query.name for each in self._queries if each.identity == identity), None)
