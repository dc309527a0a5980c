"""Where a query is: the batches that Spark planned and finished, as its checkpoint tells, to be read and set.

A batch's plan is `offsets/N`: where it ends in each of Kafka's partitions; it begins where the one before
ends. `commits/N` says that it is done. While the query does not run, the newest plan may be changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.spark.checkpoint import CheckpointError, hadoop

Ends = dict[int, int]  # by partition


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch that was begun."""

    number: int
    ends: Ends
    start: Ends | None  # None: at the topic's beginning
    done: bool


class OffsetLog:
    """Of a query with one Kafka topic for a source; a CheckpointError says that it has another form."""

    def __init__(self, spark: SparkSession, place: str, topic: str) -> None:
        self._spark, self._place, self._topic = spark, place.rstrip("/"), topic

    def newest(self) -> Plan | None:
        number = self._last("offsets")
        if number is None:
            return None
        start = self._ends(number - 1) if number else None
        return Plan(number, self._ends(number), start, done=self._last("commits") == number)

    def put(self, number: int, ends: Ends, like: int) -> None:
        """Set where a batch ends; all else that Spark keeps with it is as it is with another."""
        lines = self._lines(like)
        source, _ = self._source(lines)
        told = json.dumps({self._topic: {str(partition): end for partition, end in sorted(ends.items())}})
        text = "\n".join([*lines[:-1], source + told])
        jvm: Any = self._spark._jvm  # noqa: SLF001 -- the only way to Spark's own files from Python
        # Not the session's, which may name a manager that writes files once and for all.
        conf = self._spark._jsc.hadoopConfiguration()  # noqa: SLF001 -- the same
        folder = jvm.org.apache.hadoop.fs.Path(f"{self._place}/offsets")
        files = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        out = files.create(folder, conf).createAtomic(
            jvm.org.apache.hadoop.fs.Path(folder, str(number)), True
        )
        out.write(text.encode())
        out.close()
        if self._lines(number) != text.splitlines():
            raise CheckpointError(
                f"{folder}/{number} cannot be replaced there, and what Kafka has next cannot be read: "
                "give a --checkpoint in another file system, or delete those records from Kafka"
            )

    def _last(self, folder: str) -> int | None:
        files, path = hadoop(self._spark, f"{self._place}/{folder}")
        if not files.exists(path):
            return None
        names = [status.getPath().getName() for status in files.listStatus(path)]
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _ends(self, number: int) -> Ends:
        _, offsets = self._source(self._lines(number))
        return {int(partition): int(end) for partition, end in offsets.items()}

    def _source(self, lines: list[str]) -> tuple[str, dict[str, int]]:
        """The source's number, where the form has one, and its offsets."""
        try:
            _version, _settings, last = lines
            source, brace, told = last.partition("{")
            return source, json.loads(brace + told)[self._topic]
        except (ValueError, LookupError, TypeError):
            raise CheckpointError(
                f"{self._place}/offsets is damaged, or tells of other sources than the topic {self._topic}: "
                "give a new --checkpoint, which is rebuilt from Kafka"
            ) from None

    def _lines(self, number: int) -> list[str]:
        files, path = hadoop(self._spark, f"{self._place}/offsets/{number}")
        try:
            stream = files.open(path)
            try:
                return bytes(stream.readAllBytes()).decode().splitlines()
            finally:
                stream.close()
        except (Py4JJavaError, UnicodeDecodeError) as error:
            raise CheckpointError(
                f"{path} cannot be read ({str(error)[:200]}); give a new --checkpoint"
            ) from None
