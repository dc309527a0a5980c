"""Where rows and events come from: Kafka, an archive, and the file of events of a site without Kafka."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka.errors import KafkaError

from collectors.config.model import Config, Kafka
from collectors.config.secrets import SecretError
from collectors.contract import events, topics
from collectors.contract.events import Event
from collectors.kafka import stored
from collectors.kafka.client import KafkaSetupError
from deploy import marks
from deploy.errors import Problem
from streaming.archive.read import ArchiveError, Question, read

MAX_EVENT_BYTES: Final = 16 << 20  # of the file's end
MAX_ROWS: Final = 200_000
_MARGIN_MS: Final = 60_000  # Kafka's clock and that of who wrote the event
_REVISIONS_MS: Final = 3_600_000  # a window's last revision comes so long after it


def read_events(config: Config, left_out: Counter[str]) -> list[Event]:
    """Return all that are recorded; what is none is counted. Raises Problem."""
    if config.kafka is None:
        lines: Iterator[bytes] = _lines(config.state / marks.FILE)
    else:
        lines = _records(config.kafka, topics.EVENTS)
    found = []
    for line in lines:
        try:
            found.append(events.decode(line))
        except ValueError:
            left_out["events that are none"] += 1
    return found


def _lines(file: Path) -> Iterator[bytes]:
    try:
        # What is no file of bytes, like a pipe, must not keep this waiting.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as data:
            size = data.seek(0, 2)
            data.seek(max(0, size - MAX_EVENT_BYTES))
            if size > MAX_EVENT_BYTES:
                data.readline()  # the rest of one
            yield from (line for line in data.read(MAX_EVENT_BYTES).splitlines() if line.strip())
    except FileNotFoundError:
        raise Problem(
            f"no event is recorded: there is no {file}, and the config has no `kafka`;"
            " `inflight event` records one"
        ) from None
    except OSError as error:
        raise Problem(f"the events in {file} cannot be read: {error.strerror}") from None


def archived_rows(archive: str, from_ns: int, to_ns: int) -> Iterator[bytes]:
    """Yield the newest revisions of windows that start in this time. Raises Problem."""
    try:
        for row in read(archive, Question(max(0, from_ns), to_ns)):
            yield (row["row"] or "").encode("utf-8", "replace")
    except ArchiveError as error:
        raise Problem(str(error)) from None


def kafka_rows(config: Config, from_ns: int, to_ns: int) -> Iterator[bytes]:
    """Yield what came on the topic of windows about this time, all revisions. Raises Problem."""
    if config.kafka is None:
        raise Problem(
            "the config has no `kafka`: say where the rows are with --archive FOLDER, which"
            " `inflight run --archive FOLDER` keeps"
        )
    from_ms = from_ns // 10**6 - _MARGIN_MS
    yield from _records(config.kafka, topics.WINDOWS, from_ms, to_ns // 10**6 + _REVISIONS_MS)


def _records(
    kafka: Kafka, topic: topics.Topic, from_ms: int = 0, to_ms: int | None = None
) -> Iterator[bytes]:
    try:
        yield from stored.values(kafka, topic, from_ms, to_ms)
    except (KafkaSetupError, SecretError) as error:
        raise Problem(str(error)) from None
    except (KafkaError, OSError) as error:
        servers = ", ".join(kafka.servers)
        raise Problem(f"Kafka at {servers} cannot be read: {type(error).__name__}: {error}") from None
