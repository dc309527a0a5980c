"""A query under supervision: started, watched, and started again from its checkpoint after a failure."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafka.errors import KafkaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from collectors.process.trouble import Trouble
from streaming.spark import job
from streaming.spark.detour import Detour
from streaming.spark.failures import UnfitError, cause, is_unfit
from streaming.spark.progress import Progress
from streaming.spark.query import Query
from streaming.spark.samples_topic import TopicError
from streaming.spark.settings import JobSettings

_log: Final = logging.getLogger("inflight.stream")

_STUCK_SECONDS: Final = 60
BACKOFF_SECONDS: Final = (1, 2, 5, 10, 30)


class SupervisedQuery:
    """Keeps one query running; `supervise` is called twice a second."""

    def __init__(self, query: Query, detour: Detour, progress: Progress) -> None:
        self.query: Final = query
        self.trouble: str | None = "not started yet"
        self._running: StreamingQuery | None = None
        self._detour = detour
        self._careful = False  # it carries out one batch and ends
        self._progress = progress
        self._waiting = Trouble(_log)  # for its topics
        self._waits = 0  # one after the other
        self._failures = 0  # one after the other
        self._turns = 0
        self._turns_at_start = 0
        self._moved = 0.0  # monotonic time at which its turns were last seen to grow
        self._start_at = 0.0  # monotonic time of the next start
        progress.begin(query.name, query.reasons)
        if query.accounts:
            progress.begin_accounting(query.name)

    @property
    def identity(self) -> str | None:
        """Spark's id of the query; its events give that where they bear no name."""
        return None if self._running is None else str(self._running.id)

    def supervise(self, spark: SparkSession, settings: JobSettings) -> None:
        """Start the query if that is due; see how it goes. Raises UnfitError where no start can help."""
        running, name = self._running, self.query.name
        if running is None:
            if time.monotonic() >= self._start_at:
                self._begin(spark, settings)
            return
        turns = self._progress.turns.get(name, 0)
        active = running.status["isTriggerActive"]
        if turns > self._turns or not active:
            self._turns, self._moved = turns, time.monotonic()
            if turns > self._turns_at_start or not self._failures:
                self._failures, self.trouble = 0, None
        elif time.monotonic() - self._moved > _STUCK_SECONDS and self.trouble is None:
            self.trouble = f"query {name}: a batch takes longer than {_STUCK_SECONDS} s; is Kafka there?"
            _log.warning("%s", self.trouble)
        if not running.isActive:
            error = running.exception()
            if error is None and self._careful:
                self._begin(spark, settings)
            else:
                self._failed(error)

    def _begin(self, spark: SparkSession, settings: JobSettings) -> None:
        name = self.query.name
        try:
            job.check_topics(spark, settings, self.query)
            self._careful, skipped = self._detour.plan(spark)
            self._progress.passed_over(name, sum(batch.following - batch.first for batch in skipped))
            self._running = self.query.start(spark, settings, careful=self._careful)
        except TopicError as error:
            self._wait(error)
            return
        except (PySparkException, KafkaError) as error:
            self._failed(error)
            return
        self._waits = 0
        self._waiting.over(f"query {name}: its topics are there")
        self._moved = time.monotonic()
        self._turns_at_start = self._progress.turns.get(name, 0)
        if self._failures == 0:
            self.trouble = None

    def _wait(self, error: TopicError) -> None:
        """Try again when its topics may be there; the other queries go on."""
        self._start_at = time.monotonic() + BACKOFF_SECONDS[min(self._waits, len(BACKOFF_SECONDS) - 1)]
        self._waits += 1
        self._running = None
        self.trouble = f"query {self.query.name} waits, the others go on: {error}"
        self._waiting.tell(self.trouble)

    def _failed(self, error: Exception | None) -> None:
        wait = BACKOFF_SECONDS[min(self._failures, len(BACKOFF_SECONDS) - 1)]
        self._failures += 1
        self._running = None
        self._start_at = time.monotonic() + wait
        said = cause(error)
        if is_unfit(said) and not self._progress.has_accounted():
            raise UnfitError(
                f"the job cannot run with the Python of these machines: {said}; each of them, and the one of "
                "the driver, needs it in the driver's version, with the packages of "
                "deploy/spark_submit/requirements.txt; `submit --python` tells where it is"
            )
        self.trouble = f"query {self.query.name} failed: {said}"
        self._progress.restarted(self.query.name)
        _log.error("%s; it starts again from its checkpoint in %d s", self.trouble, wait)

    def stop(self, deadline: float) -> None:
        """End it, between two batches if there is a pause before the deadline: nothing is lost then."""
        running = self._running
        if running is None or not running.isActive:
            return
        while time.monotonic() < deadline and running.status["isTriggerActive"]:
            time.sleep(0.02)
        try:
            running.stop()
        except PySparkException as error:
            _log.warning("query %s did not stop in time: %s", self.query.name, cause(error))
