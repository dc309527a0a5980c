"""Topics for the benchmark of the job, filled as probes would fill them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Producer
from synthetic import Flow

from collectors.contract.record_codec import decode
from collectors.contract.records import SECOND_NS

_FULL = 0.01  # seconds to wait while the producer's queue is full


class Feed:
    """Sends as fast as the machine can; `close` returns when all is in Kafka."""

    def __init__(self, bootstrap: str) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "compression.type": "lz4",
            "linger.ms": 10,
            "batch.size": 1 << 20,
            "queue.buffering.max.kbytes": 1 << 17,
            "partitioner": "murmur2",
            "acks": "all",
        }
        self._producer = Producer(settings)

    def send(self, topic: str, path: str, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(topic, value, path)
            except BufferError:
                self._producer.poll(_FULL)
            else:
                return

    def flush(self) -> None:
        self._producer.flush()


def path_name(number: int) -> str:
    return f"path-{number:04}"


def records(paths: int, rate: int, seconds: int, start_second: int) -> Iterator[tuple[str, bytes]]:
    """Yield records second by second, path by path."""
    flows = [Flow(path_name(n), rate, lose_every=10_007, start_second=start_second) for n in range(paths)]
    for second in range(seconds):
        for flow in flows:
            for value in flow.second(second):
                yield flow.path, value


def fill(bootstrap: str, topic: str, paths: int, rate: int, seconds: int) -> int:
    """Fill a topic with the last seconds; return the number of records."""
    feed, count = Feed(bootstrap), 0
    for path, value in records(paths, rate, seconds, int(time.time()) - seconds):
        feed.send(topic, path, value)
        count += 1
    feed.flush()
    return count


def fill_json(bootstrap: str, topic: str, paths: int, rate: int, seconds: int) -> int:
    """Fill a topic with the same samples, a JSON record each; return their number."""
    feed, count = Feed(bootstrap), 0
    for path, value in records(paths, rate, seconds, int(time.time()) - seconds):
        received = decode(value).received
        if received is None:
            continue
        columns = (received.seq.tolist(), received.sent_ns.tolist(), received.received_ns.tolist())
        for seq, sent_ns, received_ns in zip(*columns, strict=True):
            sample = {"path": path, "seq": seq, "sent_ns": sent_ns, "received_ns": received_ns}
            feed.send(topic, path, json.dumps(sample).encode())
            count += 1
    feed.flush()
    return count


def live_records(paths: int, rate: int, seconds: int, start_second: int) -> list[list[tuple[str, bytes]]]:
    """Return records by second, made before anything is measured."""
    made = list(records(paths, rate, seconds, start_second))
    each = len(made) // seconds
    return [made[at : at + each] for at in range(0, len(made), each)]


def second_end_ns(start_second: int, second: int) -> int:
    return (start_second + second + 1) * SECOND_NS
