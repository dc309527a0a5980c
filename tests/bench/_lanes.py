"""The job's queries, all lanes together, and the progress of their batches."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streaming.spark import job
from streaming.spark.accounting_query import lane_query
from streaming.spark.settings import JobSettings


class Batch(NamedTuple):
    """A batch that read something; `began` is its wall time in seconds."""

    began: float
    seconds: float
    records: int
    phases: dict[str, float]

    @property
    def ended(self) -> float:
        return self.began + self.seconds


def start(spark: SparkSession, settings: JobSettings, told: int = 1_000) -> list[StreamingQuery]:
    """Start the queries as `inflight stream` does, with more of their progress kept by Spark."""
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(told))
    layout = job.find_layout(spark, settings)
    return [lane_query(settings, layout, lane).start(spark, settings) for lane in range(layout.lanes)]


def stop(queries: list[StreamingQuery]) -> None:
    for query in queries:
        query.stop()


def batches(query: StreamingQuery) -> list[Batch]:
    """Return the batches of a query so far, in order."""
    if not query.isActive:
        raise RuntimeError(f"the query ended: {query.exception()}")
    found = {}
    for progress in query.recentProgress:
        raw: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
        if raw["numInputRows"]:
            phases = {name: took / 1e3 for name, took in raw["durationMs"].items()}
            at = _moment(raw["timestamp"])
            found[raw["batchId"]] = Batch(at, phases["triggerExecution"], raw["numInputRows"], phases)
    return [batch for _, batch in sorted(found.items())]


def _moment(text: str) -> float:
    """Return the wall time in seconds of a text like 2026-01-31T12:00:00.123Z."""
    whole = time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    return float(whole) + float(text[19:].rstrip("Z") or 0)
