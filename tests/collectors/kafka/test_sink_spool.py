"""A spool that takes no more: it is told, and not at each record."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from helpers import free_port, wait_until

from collectors.config.model import Kafka as KafkaConfig
from collectors.kafka import sink as sink_module
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> KafkaConfig:
    """Of a Kafka that is not there, which is tried often."""
    monkeypatch.setattr(sink_module, "_BOOTSTRAP_MS", 50)
    monkeypatch.setattr(sink_module, "_RETRY_SECONDS", 0.01)
    return KafkaConfig(servers=(f"127.0.0.1:{free_port()}",))


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "inflight.sink"]


def test_a_full_spool_is_told_once(
    config: KafkaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Beside that Kafka is away: a line each, however long both last; and the sink is not ready meanwhile."""
    caplog.set_level(logging.INFO, "inflight")
    monkeypatch.setattr(sink_module, "_QUIET_SECONDS", 0.2)
    sink = KafkaSink(config, Spool(tmp_path, 3 << 20))
    sink.start()
    wait_until(lambda: "records wait on disk" in str(sink.problem), 30, "Kafka's absence to be told")
    assert sink.not_ready() is None
    for _ in range(40):
        sink.put(b"x" * (1 << 20), "p")
    reason = "the oldest records are given up: the spool is full, with 3 MiB"
    assert reason in str(sink.not_ready())
    told = _told(caplog)
    assert told.count(reason) == 1
    assert len(told) == len(set(told))
    assert sum("records wait on disk" in line for line in told) <= 3  # the client has several words for it
    wait_until(
        lambda: sink.put(b"x", "p") or not sink.not_ready(), 30, "the spool to have had room for a while"
    )
    sink.close(0)


def test_a_disk_that_takes_nothing_is_told_once(
    config: KafkaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And Kafka's absence is still told beside it, without the two taking turns in the log."""
    caplog.set_level(logging.INFO, "inflight")
    sink = KafkaSink(config, Spool(tmp_path, 1 << 30))
    sink.start()

    def full(*_: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "pwrite", full)
    tries = []
    monkeypatch.setattr(sink_module, "explain", lambda *_: tries.append(0) or "away")
    wait_until(lambda: sink.put(b"x", "p") or len(tries) > 10, 30, "many tries")
    reason = "records are given up: the spool cannot be written: No space left on device"
    assert reason in str(sink.not_ready())
    told = [line.partition(": Kafka at")[0] for line in _told(caplog)]
    assert sorted(told) == [reason, "records wait on disk"]
    sink.close(0)
