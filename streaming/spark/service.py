"""Runs the job's queries until told to stop: what fails is started again from its checkpoint."""

from __future__ import annotations

import functools
import itertools
import logging
import re
import subprocess
import time
from collections.abc import Callable
from threading import Event
from typing import Any, Final, Protocol

from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from collectors.http.metric_factory import gauge
from collectors.http.part_server import PartServer
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker, joined
from streaming.spark.archive import ARCHIVE_QUERY, keep_compact, start_archive
from streaming.spark.checkpoint import CheckpointError
from streaming.spark.detour import Detour
from streaming.spark.job import lane_query, settled, start_lane, written_topics
from streaming.spark.kafka_options import AccessError
from streaming.spark.progress import Listener, Progress
from streaming.spark.samples_topic import TopicError, tell_of_settings
from streaming.spark.settings import JobSettings

_log: Final = logging.getLogger("inflight.stream")

_POLL_SECONDS: Final = 0.5
_STUCK_SECONDS: Final = 60
_STOP_SECONDS: Final = 4.0
_WATCH_SECONDS: Final = 60
_ENDING_SECONDS: Final = 2  # of a process whose connections are closed
_OUT_OF_MEMORY: Final = (3, 52)  # as the JVM itself says it, and Spark
_BACKOFF_SECONDS: Final = (1, 2, 5, 10, 30)

_UNFIT: Final = re.compile(
    r"ModuleNotFoundError|ImportError|(\S+: )?Cannot run program|.*\[PYTHON_VERSION_MISMATCH\]"
)


class Start(Protocol):
    """Starts a query."""

    def __call__(
        self, spark: SparkSession, settings: JobSettings, *, careful: bool = False
    ) -> StreamingQuery: ...


class OutOfMemoryError(Exception):
    """Spark's JVM ended for want of memory: another one goes on, around what it could not hold."""


class UnfitError(Exception):
    """Where the job was started no batch can ever be computed."""


class _Runner:
    """One query: started, watched, and started again after a failure."""

    def __init__(
        self, name: str, start: Start, detour: Detour, progress: Progress, *, accounts: bool
    ) -> None:
        self.name = name
        self.query: StreamingQuery | None = None
        self.trouble: str | None = "not started yet"
        self._start = start
        self._detour = detour
        self._careful = False  # the query carries out one batch and ends
        self._progress = progress
        self._failures = 0
        self._turns = 0
        self._begun_at = 0  # its turns when it was started last
        self._since = 0.0  # when something was seen to move
        self._due = 0.0
        progress.begin(name)
        if accounts:
            progress.begin_accounting(name)

    def poll(self, spark: SparkSession, settings: JobSettings) -> None:
        if self.query is None:
            if time.monotonic() >= self._due:
                self._begin(spark, settings)
            return
        turns = self._progress.turns.get(self.name, 0)
        active = self.query.status["isTriggerActive"]
        if turns > self._turns or not active:
            self._turns, self._since = turns, time.monotonic()
            if turns > self._begun_at or not self._failures:
                self._failures, self.trouble = 0, None
        elif time.monotonic() - self._since > _STUCK_SECONDS and self.trouble is None:
            self.trouble = f"query {self.name}: a batch takes longer than {_STUCK_SECONDS} s; is Kafka there?"
            _log.warning("%s", self.trouble)
        if not self.query.isActive:
            error = self.query.exception()
            if error is None and self._careful:
                self._begin(spark, settings)
            else:
                self._failed(error)

    def _begin(self, spark: SparkSession, settings: JobSettings) -> None:
        try:
            self._careful, passed = self._detour.plan(spark)
            self._progress.passed_over(self.name, sum(one.following - one.first for one in passed))
            self.query = self._start(spark, settings, careful=self._careful)
        except (PySparkException, KafkaError) as error:
            self._failed(error)
            return
        self._since = time.monotonic()
        self._begun_at = self._progress.turns.get(self.name, 0)
        if self._failures == 0:
            self.trouble = None

    def _failed(self, error: Exception | None) -> None:
        wait = _BACKOFF_SECONDS[min(self._failures, len(_BACKOFF_SECONDS) - 1)]
        self._failures += 1
        self.query = None
        self._due = time.monotonic() + wait
        said = reason(error)
        if unfit(said) and not self._progress.batches.keys() - {ARCHIVE_QUERY}:
            raise UnfitError(
                f"the job cannot run with the Python of these machines: {said}; each of them, and the one of "
                "the driver, needs it in the driver's version, with the packages of "
                "deploy/spark_submit/requirements.txt; `submit --python` tells where it is"
            )
        self.trouble = f"query {self.name} failed: {said}"
        self._progress.restarted(self.name)
        _log.error("%s; it starts again from its checkpoint in %d s", self.trouble, wait)

    def stop(self, deadline: float) -> None:
        """Between two batches if there is a pause in time: nothing has to be computed again then."""
        if self.query is None or not self.query.isActive:
            return
        while time.monotonic() < deadline and self.query.status["isTriggerActive"]:
            time.sleep(0.02)
        try:
            self.query.stop()
        except PySparkException as error:
            _log.warning("query %s did not stop in time: %s", self.name, reason(error))


def serve(
    spark: SparkSession,
    settings: JobSettings,
    stopping: Event,
    serving: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the job and its /metrics until `stopping` is set; errors of the set-up pass through.

    `serving` is told the URL.
    """
    service, server = served(spark, settings)
    serving(server.url)
    try:
        service.run(stopping)
    finally:
        server.close()


def served(spark: SparkSession, settings: JobSettings) -> tuple[Service, PartServer]:
    """Make the job, to be run, and the server of its /metrics, to be closed."""
    registry = CollectorRegistry()
    gauge("build_info", registry).labels("stream", settings.version, settings.config_hash).set(1)
    service = Service(spark, settings, Progress(registry))
    server = PartServer(settings.listen, registry, service.not_ready)
    _log.info("serving %s/metrics", server.url)
    return service, server


class Service:
    """The accounting, and the archive where one is asked for."""

    def __init__(self, spark: SparkSession, settings: JobSettings, progress: Progress) -> None:
        self._spark = spark
        self._settings = settings
        self._progress = progress
        self._trouble: str | None = "not started yet"
        self._runners: list[_Runner] = []
        self._workers: list[Worker] = []
        if settings.archive:
            detour = Detour(settings, ARCHIVE_QUERY, settings.windows_topic)
            self._runners.append(_Runner(ARCHIVE_QUERY, start_archive, detour, progress, accounts=False))
        self._listener = Listener(progress, self._name_of)
        spark.streams.addListener(self._listener)

    def not_ready(self) -> str | None:
        trouble = self._trouble or next((runner.trouble for runner in self._runners if runner.trouble), None)
        return joined(trouble, *(worker.problem for worker in self._workers))

    def run(self, stopping: Event) -> None:
        """Until `stopping` is set, or OutOfMemoryError; Checkpoint-, Access- and UnfitError pass through."""
        archive = self._settings.archive
        if archive:
            self._begin("compaction", lambda: keep_compact(self._spark, archive, stopping))
        try:
            self._settle(stopping)
            while not stopping.is_set():
                for runner in self._runners:
                    runner.poll(self._spark, self._settings)
                stopping.wait(_POLL_SECONDS)
        except (Py4JError, OSError):
            ended = _ended()
            if ended is None:
                raise
            raise ended from None
        finally:
            self._end()

    def _end(self) -> None:
        process = _jvm()
        if process is not None and process.poll() is not None:
            return
        deadline = time.monotonic() + _STOP_SECONDS
        for runner in self._runners:
            runner.stop(deadline)
        self._spark.streams.removeListener(self._listener)

    def _settle(self, stopping: Event) -> None:
        """Find out how the job is spread, and with that its queries; wait while Kafka does not tell."""
        trouble = Trouble(_log)
        for wait in itertools.chain(_BACKOFF_SECONDS, itertools.repeat(_BACKOFF_SECONDS[-1])):
            if stopping.is_set():
                return
            try:
                layout = settled(self._spark, self._settings)
            except TopicError as error:
                self._trouble = str(error)
                trouble.tell(f"{error}; it is tried again")
                stopping.wait(wait)
                continue
            self._trouble = None
            break
        topics = [self._settings.samples_topic, *written_topics(self._settings)]
        tell_of_settings(self._settings.kafka, topics)
        for lane in range(layout.lanes):
            start = functools.partial(start_lane, layout=layout, lane=lane)
            name = lane_query(lane)
            detour = Detour(self._settings, name, self._settings.samples_topic, layout.lanes)
            self._runners.append(_Runner(name, start, detour, self._progress, accounts=True))
        self._begin("topic", lambda: self._watch_topic(stopping))

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        self._workers.append(Worker(name, work))
        self._workers[-1].start()

    def _watch_topic(self, stopping: Event) -> None:
        """Tell when somebody gave the topic more partitions: nothing reads them."""
        while not stopping.wait(_WATCH_SECONDS):
            try:
                settled(self._spark, self._settings)
            except CheckpointError as error:
                self._trouble = str(error)
                _log.error("%s", error)
            except (TopicError, AccessError, Py4JError) as error:
                _log.debug("%s", error)  # the queries say themselves that Kafka is away

    def _name_of(self, identity: str) -> str | None:
        return next((r.name for r in self._runners if r.query and str(r.query.id) == identity), None)


def _ended() -> OutOfMemoryError | None:
    """What is to be told if it was the reason of an error."""
    process = _jvm()
    if process is None:
        return None
    try:
        status = process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    if status not in _OUT_OF_MEMORY:
        return None
    return OutOfMemoryError(f"Spark's JVM was out of memory and ended with status {status}")


def _jvm() -> Any:
    """Its process, where it was started from here."""
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 -- nobody else knows it


def reason(error: Exception | None) -> str:
    """The first cause that says something, in one line."""
    lines = [line for line in str(error or "").splitlines() if line.strip()]
    causes = [found[1] for line in lines if (found := re.match(r"\s*Caused by: (.*)", line))]
    said = _of_python(lines) or causes[-1:] or lines[:1] or ["it ended without saying why"]
    return said[0].strip()[:500]


def unfit(said: str) -> bool:
    """Whether a query's failure is one of the machines' Python, and not of anything that may pass."""
    return _UNFIT.match(said) is not None


def _of_python(lines: list[str]) -> list[str]:
    """From what a Python worker raised on: it stands below the frames, no deeper than their heading."""
    headings = [n for n, line in enumerate(lines) if line.endswith("Traceback (most recent call last):")]
    if not headings:
        return []
    depth = _depth(lines[headings[-1]])
    return [line for line in lines[headings[-1] + 1 :] if _depth(line) <= depth]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
