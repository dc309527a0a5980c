"""What a shard takes in, and what it gives out: rows for topics, and counts of its batch."""

from __future__ import annotations

import base64
import json
from typing import Final, Literal, NamedTuple

from collectors.contract.topics import DEAD_LETTERS, LIVE, WINDOWS

Kind = Literal["windows", "live", "dead-letters", "count"]

TOPIC_OF: Final[dict[Kind, str]] = {
    "windows": WINDOWS.suffix,
    "live": LIVE.suffix,
    "dead-letters": DEAD_LETTERS.suffix,
}
NEWEST: Final = "newest_ms"  # among the counts: when Kafka took the newest record; others are added up
DEAD_LETTER_VERSION: Final = 1
_KEPT_BYTES: Final = 65_536  # of a dead record; the whole is where the letter says


class Output(NamedTuple):
    """A row for a topic, or (kind `count`) a count for the job's own progress."""

    kind: Kind
    key: bytes | None
    value: bytes | None
    counter: str | None = None
    amount: int = 0


class Input(NamedTuple):
    """A Kafka record of the samples topic; sorted, they are in the order of their partitions."""

    partition: int
    offset: int
    append_ns: int
    key: bytes
    value: bytes


def dead_letter(record: Input, reason: str, detail: str) -> Output:
    """Returns a dead letter: where the record stands, why it was put aside, and its first bytes."""
    letter = {
        "v": DEAD_LETTER_VERSION,
        "reason": reason,
        "detail": detail,
        "partition": record.partition,
        "offset": record.offset,
        "append_ns": record.append_ns,
        "bytes": len(record.value),
        "value_base64": base64.b64encode(record.value[:_KEPT_BYTES]).decode(),
    }
    text = json.dumps(letter, sort_keys=True, separators=(",", ":"))
    return Output("dead-letters", record.key, text.encode())
