"""The log: a line for each event on stderr, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

LEVELS = ("debug", "info", "warning", "error")


class _Lines(logging.Formatter):
    """Formats as `2026-01-31T12:00:00.123Z warning inflight.sink: text`, always one line."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        text = record.getMessage()
        if record.exc_info:
            text += " | " + self.formatException(record.exc_info).replace("\n", " | ")
        text = _escaped(text)
        return f"{stamp}.{int(record.msecs):03d}Z {record.levelname.lower()} {record.name}: {text}"


def _escaped(text: str) -> str:
    """Returns text of peers such that it cannot steer a terminal or begin a line."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "part": record.name,
            "event": record.getMessage(),
        }
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        return json.dumps(event)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Returns False for what py4j logs, by the root logger and with a stack: it raises the same as well."""
    return "/py4j/" not in record.pathname


def setup(level: str = "info", *, as_json: bool = False) -> None:
    """Write Inflight's log to stderr, and that of libraries from level warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Lines())
    handler.addFilter(_not_of_py4j)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("inflight").setLevel(level.upper())
    # The Kafka client retries by itself, and logs each time as an error, many times a second.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


@contextmanager
def quiet(part: str, level: int) -> Iterator[None]:
    """Within the block, log of this part only what is of this level or above."""
    logger = logging.getLogger(part)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
