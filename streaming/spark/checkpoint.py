"""What is fixed with a checkpoint, written beside Spark's own files, on any file system that Hadoop knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.spark.lanes import Layout
from streaming.spark.settings import JobSettings

VERSION: Final = 3
_FILE: Final = "inflight.json"


class CheckpointError(Exception):
    """The job, as it is set, cannot use this checkpoint."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What the checkpoint was begun with."""

    layout: Layout
    topic: str

    def encode(self) -> bytes:
        return json.dumps({"v": VERSION, "topic": self.topic, **asdict(self.layout)}).encode()


def decode(data: bytes, place: str) -> Marker:
    """Raises CheckpointError where the file at `place` is no marker of this version."""
    try:
        raw = json.loads(data)
        version = raw["v"]
        if version != VERSION:
            raise CheckpointError(
                f"{place} is of version {version}, this job knows version {VERSION}: run the version that "
                "wrote it, or give a new --checkpoint, which is rebuilt from Kafka"
            )
        return Marker(Layout(raw["lanes"], raw["partitions"], raw["shards"]), raw["topic"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{place} is damaged ({error}); give a new --checkpoint, which is rebuilt from Kafka"
        ) from None


def agree(marker: Marker, settings: JobSettings) -> Layout:
    """Returns the checkpoint's layout. Raises CheckpointError where the settings ask for another."""
    asked = (
        ("lanes", settings.lanes, marker.layout.lanes),
        ("samples topic", settings.samples_topic, marker.topic),
    )
    for what, wanted, kept in asked:
        if wanted is not None and wanted != kept:
            raise CheckpointError(
                f"the checkpoint {settings.checkpoint} was begun with {what} = {kept}, now {wanted} is "
                "asked for: leave it as it was, or give a new --checkpoint, which is rebuilt from Kafka"
            )
    return marker.layout


def choose(settings: JobSettings, partitions: int) -> Layout:
    """Returns the layout for a new checkpoint."""
    try:
        return Layout(settings.lanes or min(settings.suited_lanes, partitions), partitions)
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def layout(spark: SparkSession, settings: JobSettings, partitions: Callable[[], int]) -> Layout:
    """Returns the checkpoint's layout, which is chosen and written down with its first use.

    `partitions` returns how many the samples topic has; what it raises passes through. Raises CheckpointError
    where the checkpoint cannot be used.
    """
    place = f"{settings.checkpoint.rstrip('/')}/{_FILE}"
    try:
        return _layout(spark, settings, place, partitions)
    except Py4JJavaError as error:
        cause = str(error.java_exception).splitlines()[0][:300]
        raise CheckpointError(
            f"{place} cannot be used ({cause}); mend that, or give a new --checkpoint"
        ) from None


def on_local_files(spark: SparkSession, settings: JobSettings) -> bool:
    """Returns whether Hadoop takes the checkpoint for a folder of this machine."""
    files, _ = hadoop(spark, settings.checkpoint)
    return bool(files.getUri().getScheme() == "file")


def hadoop(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """Returns Hadoop's file system of a place, and its path there."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- the only way to Hadoop's file systems from Python
    path = jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(spark._jsc.hadoopConfiguration()), path  # noqa: SLF001 -- the same


def _layout(spark: SparkSession, settings: JobSettings, place: str, partitions: Callable[[], int]) -> Layout:
    files, path = hadoop(spark, place)
    if files.exists(path):
        stream = files.open(path)
        try:
            data = bytes(stream.readAllBytes())
        finally:
            stream.close()
        return agree(decode(data, place), settings)
    if files.exists(path.getParent()) and files.listStatus(path.getParent()):
        raise CheckpointError(
            f"{settings.checkpoint} holds files, but no {_FILE}: it is not a checkpoint of this job; "
            "give another --checkpoint"
        )
    chosen = choose(settings, partitions())
    _, unfinished = hadoop(spark, f"{place}.tmp")
    files.mkdirs(path.getParent())
    out = files.create(unfinished, True)
    try:
        out.write(Marker(chosen, settings.samples_topic).encode())
    finally:
        out.close()
    files.rename(unfinished, path)
    return chosen
