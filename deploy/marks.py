"""Writes events: to Kafka, or where the config has none, to a file that `inflight run` reads as it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from collectors.config.model import Config
from collectors.config.secrets import SecretError
from collectors.contract import events
from collectors.contract.topics import EVENTS
from collectors.process.private_files import private_folder
from deploy.errors import Problem

FILE: Final = "events.jsonl"


def put(config: Config, event: events.Event) -> None:
    """Return when the event is written; raises Problem where that fails, within half a minute."""
    data = events.encode(event)
    try:
        events.decode(data)
    except ValueError as error:
        raise Problem(str(error)) from None
    if config.kafka is None:
        _append(config.state / FILE, data)
        return
    from collectors.kafka.client import KafkaSetupError, put  # noqa: PLC0415 -- most have no need of it

    try:
        put(config.kafka, EVENTS, data)
    except (KafkaSetupError, SecretError) as error:
        raise Problem(str(error)) from None


def _append(file: Path, data: bytes) -> None:
    """Add a line in one piece, also below one that an earlier writer could not finish."""
    try:
        private_folder(file.parent)
        with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b", buffering=0) as out:
            size = out.seek(0, os.SEEK_END)
            whole = size == 0 or os.pread(out.fileno(), 1, size - 1) == b"\n"
            line = (b"" if whole else b"\n") + data + b"\n"
            if out.write(line) != len(line):
                raise Problem(f"{file} took only a part of the event: is the disk full?")
    except OSError as error:
        raise Problem(f"the event cannot be written to {file}: {error.strerror}") from None
