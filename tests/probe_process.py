"""`inflight probe` as a process, its records and their rows: `from probe_process import ProbeProcess`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from helpers import free_port, wait_until
from kafka_topics import consume

from collectors.config import load, paths
from collectors.contract.record_codec import decode
from collectors.contract.records import Record
from collectors.contract.topics import SAMPLES
from collectors.contract.window_rows import WindowRow, decode_window
from collectors.kafka import client
from collectors.process import wall_clock
from deploy.embedded import http
from streaming.accounting import Accountant

Written = tuple[Record, bytes, int]  # the record, its bytes, Kafka's append time in ns


def command(config: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "deploy", "probe", "-c", str(config), "--create-topics", *options]


class ProbeProcess:
    """A process of `inflight probe`, started at once."""

    def __init__(self, config: Path, *options: str, clock: Path | None = None) -> None:
        """With `clock` it is a process of another machine, whose clock is as wrong as the file says."""
        self._port = free_port()
        argv = command(config, *options, "--listen", f"127.0.0.1:{self._port}")
        wrong = {wall_clock.VARIABLE: str(clock)} if clock else {}
        self.process = subprocess.Popen(argv, env={**os.environ, **wrong})

    def metrics(self) -> str:
        return http.get(f"http://127.0.0.1:{self._port}/metrics")

    def count(self, outcome: str) -> int:
        """Return the number of messages with this outcome, by its own metrics, over all ends."""
        lines = [line for line in self.metrics().splitlines() if f'outcome="{outcome}"' in line]
        return sum(int(float(line.rpartition(" ")[2])) for line in lines)

    def wait_count(self, outcome: str, count: int) -> None:
        wait_until(lambda: self.count(outcome) >= count, 60, f"{count} messages {outcome}")

    def wait_ready(self) -> None:
        """Wait until all its ends are ready."""
        wait_until(lambda: http.get(f"http://127.0.0.1:{self._port}/-/ready") or True, 60, "all ends")

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


def written(config: Path) -> list[Written]:
    """Return all records in the topic, each path's in their order."""
    settings = load.load(config).kafka
    assert settings is not None
    found = consume("", SAMPLES.name(settings.prefix), **client.client_kwargs(settings))
    return [(decode(m.value), m.value, m.timestamp * 1_000_000) for m in found]


def final_rows(config: Path, records: list[Written]) -> list[WindowRow]:
    """Return the last revision of each window of one path, in order; no record may be a dead letter."""
    rules = {name: path.rules for name, path in paths.resolve(load.load(config)).items()}
    accountant, newest = Accountant(rules.__getitem__), {}
    for record, data, append_ns in records:
        fed = accountant.feed(data, append_ns, record.header.path)
        assert fed.dead_letter is None, fed.dead_letter
        for row in map(decode_window, fed.rows):
            newest[row["window_start_ns"]] = row
    return [newest[start_ns] for start_ns in sorted(newest)]
