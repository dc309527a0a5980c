"""Kafka away for longer than an end may be silent, with a path's ends in two processes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from config_file import write_config
from probe_process import ProbeProcess, Written, written
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from standin_clients import StandIn

from collectors.config import load, paths
from collectors.contract.window_rows import decode_window
from deploy.demo import audit
from streaming.accounting import Accountant
from streaming.exporter import Exporter

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
_RATE = 100
_GONE_AFTER_SECONDS = 14
_AWAY_SECONDS = 22  # by the messages sent meanwhile


def test_what_both_ends_kept_is_counted_as_if_kafka_had_been_there(kafka: Kafka, tmp_path: Path) -> None:
    """Whichever end's records come first: all that was sent is told at first, and nothing moves later."""
    router = StandIn(tmp_path, "R")
    file = write_config(
        tmp_path,
        router.port,
        f"{{kept: {{from: a, to: a, address: closest/kept, rate: {_RATE}/s}}}}",
        defaults=f"window: 1s, settle: 2s, gone_after: {_GONE_AFTER_SECONDS}s",
        kafka=kafka.bootstrap,
        prefix=f"outage-{tmp_path.name}",
    )
    receiving = ProbeProcess(file, "--receive")
    try:
        receiving.wait_ready()
        sending = ProbeProcess(file, "--send")
        try:
            sending.wait_count("accepted", 3 * _RATE)
            os.kill(kafka.process.pid, signal.SIGSTOP)
            try:
                sending.wait_count("accepted", sending.count("accepted") + _AWAY_SECONDS * _RATE)
            finally:
                os.kill(kafka.process.pid, signal.SIGCONT)
            sending.wait_count("accepted", sending.count("accepted") + _GONE_AFTER_SECONDS * _RATE)
            assert sending.end(signal.SIGTERM) == 0
        finally:
            sending.process.kill()
        assert receiving.end(signal.SIGTERM) == 0
    finally:
        receiving.process.kill()
        router.stop()
    records = written(file)
    assert _longest_silence(records) > _GONE_AFTER_SECONDS
    config = load.load(file)
    accountant = Accountant(lambda name: paths.resolve(config)[name].rules)
    exporter = Exporter(config, CollectorRegistry())
    for _, data, append_ns in records:
        for row in accountant.feed(data, append_ns).rows:
            exporter.apply_window(decode_window(row))
    sent = audit.numbers_sent(record for record, _, _ in records)["kept"]
    assert sent >= (3 + _AWAY_SECONDS + _GONE_AFTER_SECONDS) * _RATE
    counted = _counted(exporter)
    assert counted["inflight_path_sent_messages_total"] == sent
    assert counted["inflight_path_reclassified_messages_total"] == 0


def _longest_silence(records: list[Written]) -> float:
    """Seconds in which Kafka took nothing."""
    appended_ns = [append_ns for _, _, append_ns in records]
    return max(after - before for before, after in pairwise(appended_ns)) / 1e9


def _counted(exporter: Exporter) -> Counter[str]:
    """By metric, over all its labels."""
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(exporter.render()):
        for sample in family.samples:
            found[sample.name] += int(sample.value)
    return found
