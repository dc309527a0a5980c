"""How far a query is: the batches that Spark planned and finished, read from its checkpoint and set in it.

A batch's plan is the file `offsets/N`: where it ends in each of Kafka's partitions. It begins where the one
before ends. The file `commits/N` says that it is done. While the query does not run, the newest plan may be
changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.spark.checkpoint import CheckpointError, hadoop

Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch that was begun."""

    number: int
    ends: Offsets
    start: Offsets | None  # None: not known, at the topics' beginning
    done: bool


class OffsetLog:
    """The plans of a query whose sources are topics of Kafka, each topic in one source.

    Where a file has another form, methods raise CheckpointError.
    """

    def __init__(self, spark: SparkSession, folder: str, topics: Iterable[str]) -> None:
        self._spark, self._folder, self._topics = spark, folder, frozenset(topics)

    def newest(self) -> Plan | None:
        """Returns the newest plan, or None where the query never began a batch."""
        number = self._last("offsets")
        if number is None:
            return None
        start = self._ends(number - 1) if number else self._begin()
        return Plan(number, self._ends(number), start, done=self._last("commits") == number)

    def put(self, number: int, ends: Offsets, like: int) -> None:
        """Set where a batch ends; all else that Spark keeps with it is copied from the batch `like`."""
        head, sources = self._read(like)
        text = "\n".join(
            [*head, *(prefix + _source_json(topics, ends) for prefix, topics in sources)],
        )
        jvm: Any = self._spark._jvm  # noqa: SLF001 -- the only way to Spark's own files from Python
        # Not the session's, which may name a manager that writes files once and for all.
        conf = self._spark._jsc.hadoopConfiguration()  # noqa: SLF001 -- the same
        folder = jvm.org.apache.hadoop.fs.Path(f"{self._folder}/offsets")
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
        files, path = hadoop(self._spark, f"{self._folder}/{folder}")
        if not files.exists(path):
            return None
        names = [status.getPath().getName() for status in files.listStatus(path)]
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _ends(self, number: int) -> Offsets:
        _, sources = self._read(number)
        return _offsets(topics for _, topics in sources)

    def _begin(self) -> Offsets | None:
        """Returns where the query's first batch begins, which Spark keeps for each source."""
        files, path = hadoop(self._spark, f"{self._folder}/sources")
        if not files.exists(path):
            return None
        found = []
        for source in files.listStatus(path):
            if not files.exists(hadoop(self._spark, f"{source.getPath()}/0")[1]):
                return None
            lines = self._lines_of(f"{source.getPath()}/0")
            try:
                found.append(json.loads(lines[-1]))
            except (ValueError, LookupError):
                return None
        return _offsets(found)

    def _read(self, number: int) -> tuple[list[str], list[tuple[str, dict[str, Any]]]]:
        """Returns the lines before the sources; of each source its prefix, and its offsets by topic."""
        lines = self._lines(number)
        try:
            version, settings, *told = lines
            parts = [line.partition("{") for line in told]
            sources = [(prefix, json.loads(brace + rest)) for prefix, brace, rest in parts]
            if {topic for _, topics in sources for topic in topics} != self._topics:
                raise LookupError("other topics")
        except (ValueError, LookupError, TypeError):
            raise CheckpointError(
                f"{self._folder}/offsets is damaged, or is of other topics than "
                f"{', '.join(sorted(self._topics))}: give a new --checkpoint, which is rebuilt from Kafka"
            ) from None
        return [version, settings], sources

    def _lines(self, number: int) -> list[str]:
        return self._lines_of(f"{self._folder}/offsets/{number}")

    def _lines_of(self, place: str) -> list[str]:
        files, path = hadoop(self._spark, place)
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


def _offsets(sources: Iterable[Mapping[str, Mapping[str, Any]]]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topics in sources
        for topic, partitions in topics.items()
        for partition, offset in partitions.items()
    }


def _source_json(topics: Iterable[str], ends: Mapping[TopicPartition, int]) -> str:
    """Returns a source's offsets as Spark writes them."""
    offsets: dict[str, dict[str, int]] = {topic: {} for topic in topics}
    for place, end in sorted(ends.items()):
        if place.topic in offsets:
            offsets[place.topic][str(place.partition)] = end
    return json.dumps(offsets)
