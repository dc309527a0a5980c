"""The Kafka topics and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BATCH_BYTES: Final = 1_048_588  # Kafka's own default, whatever this cluster's is
# What a batch unpacks to is bounded by its readers (kafka/batches.py). A broker that packs or compacts
# it anew unpacks it in its own memory, where nothing bounds that: it is to keep batches as they come.
# A record's time is when Kafka took it: the accounting tells by it who is silent, and what is of the future.
SETTINGS: Final = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": str(MAX_BATCH_BYTES),
    "message.timestamp.type": "LogAppendTime",
}

HOUR_MS: Final = 3_600_000
PARTITIONS: Final = 12


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with the settings that `inflight` makes it with; one that exists keeps its own."""

    suffix: str
    retention_ms: int
    partitions: int = PARTITIONS

    def name(self, prefix: str) -> str:
        return f"{prefix}.{self.suffix}"

    def settings(self) -> dict[str, str]:
        """Return the topic's configuration, as Kafka names it."""
        return {"retention.ms": str(self.retention_ms), **SETTINGS}


SAMPLES: Final = Topic("samples", 24 * HOUR_MS)
ROUTER: Final = Topic("router", 24 * HOUR_MS)
BROKER: Final = Topic("broker", 24 * HOUR_MS)
EVENTS: Final = Topic("events", 90 * 24 * HOUR_MS, partitions=1)
LIVE: Final = Topic("live", HOUR_MS)
WINDOWS: Final = Topic("windows", 7 * 24 * HOUR_MS)
ATTRIBUTION: Final = Topic("attribution", 7 * 24 * HOUR_MS)
DEAD_LETTERS: Final = Topic("dead-letters", 7 * 24 * HOUR_MS, partitions=1)

ALL: Final = (SAMPLES, ROUTER, BROKER, EVENTS, LIVE, WINDOWS, ATTRIBUTION, DEAD_LETTERS)
