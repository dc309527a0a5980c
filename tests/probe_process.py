"""`inflight probe` as a process, and what it wrote: `from probe_process import ProbeProcess, written`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from helpers import free_port, wait_until
from kafka import KafkaConsumer

from collectors.config import load
from collectors.contract.record_codec import decode
from collectors.contract.records import Record
from collectors.contract.topics import SAMPLES
from collectors.kafka import client
from deploy.embedded import http

Written = tuple[Record, bytes, int]  # the record, its bytes, Kafka's append time in ns


def command(config: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "deploy", "probe", "-c", str(config), "--create-topics", *options]


class ProbeProcess:
    """Runs from the beginning; `end` stops it."""

    def __init__(self, config: Path, *options: str) -> None:
        self._port = free_port()
        listen = f"127.0.0.1:{self._port}"
        self.process = subprocess.Popen(command(config, *options, "--listen", listen))

    def metrics(self) -> str:
        return http.get(f"http://127.0.0.1:{self._port}/metrics")

    def count(self, outcome: str) -> int:
        """By its own count, over all ends."""
        lines = [line for line in self.metrics().splitlines() if f'outcome="{outcome}"' in line]
        return sum(int(float(line.rpartition(" ")[2])) for line in lines)

    def wait_count(self, outcome: str, count: int) -> None:
        wait_until(lambda: self.count(outcome) >= count, 60, f"{count} messages {outcome}")

    def wait_ready(self) -> None:
        """Until all its ends are at work."""
        wait_until(lambda: http.get(f"http://127.0.0.1:{self._port}/-/ready") or True, 60, "all ends")

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


def written(config: Path) -> list[Written]:
    """All records, path by path in their order."""
    settings = load.load(config).kafka
    assert settings is not None
    consumer = KafkaConsumer(
        SAMPLES.name(settings.prefix),
        **client.client_kwargs(settings),
        auto_offset_reset="earliest",
        group_id=None,
        consumer_timeout_ms=5_000,
    )
    found = [(decode(m.value), m.value, m.timestamp * 1_000_000) for m in consumer]
    consumer.close()
    return found
