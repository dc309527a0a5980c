"""The job is killed, Kafka is killed, and the final rows are those of a run that nothing disturbed."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from helpers import wait_until
from spark_job import RULES, batches, expected, produce, window_rows
from stream_process import Stream
from synthetic import Flow

from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

FLOWS = [Flow(f"path-{number}", 10, lose_every=4 + number) for number in range(8)]
SECONDS = 90
SMALL_BATCHES = ("--max-records", "60", "--trigger", "50ms")
ROWS = len(FLOWS) * (SECONDS - 10) // 5  # a window is final 10 s after its end


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[Kafka]:
    """A Kafka that this test may kill."""
    with Kafka.alone(tmp_path / "kafka") as running:
        running.make_topics()
        yield running


def reached(checkpoint: Path, wanted: int) -> bool:
    """So many are committed."""
    return batches(checkpoint) >= wanted


def test_final_rows_survive_kills(own_kafka: Kafka, tmp_path: Path) -> None:
    """The driver is killed at random moments, Kafka too, and a run goes on from a crash's checkpoint."""
    bootstrap = own_kafka.bootstrap
    records = [
        (flow.path, value) for second in range(SECONDS) for flow in FLOWS for value in flow.second(second)
    ]
    produce(bootstrap, "inflight.samples", records)
    config, checkpoint = tmp_path / "inflight.yaml", tmp_path / "checkpoint"
    config.write_text(
        f"version: 1\nsite: test\nkafka: {{servers: ['{bootstrap}']}}\nstate: {tmp_path / 'state'}\n"
    )
    stream = Stream(config, checkpoint, tmp_path / "stream.log", *SMALL_BATCHES)
    moments = random.Random(20261118)  # noqa: S311 -- the same moments each time
    try:
        for _ in range(2):
            enough = batches(checkpoint) + 2
            stream.start()
            wait_until(partial(reached, checkpoint, enough), 240, "two more batches")
            threading.Event().wait(moments.uniform(0, 0.4))
            stream.kill()
        # As from a backup: what the crash left is copied, and the copy goes on.
        checkpoint = Path(shutil.copytree(checkpoint, tmp_path / "crash"))
        stream = Stream(config, checkpoint, tmp_path / "stream.log", *SMALL_BATCHES)
        enough = batches(checkpoint) + 1
        stream.start()
        wait_until(partial(reached, checkpoint, enough), 240, "a batch before Kafka is killed")
        own_kafka.kill()
        threading.Event().wait(2)
        own_kafka.start()
        wait_until(
            lambda: len(window_rows(bootstrap, "inflight.windows")[0]) == ROWS,
            240,
            "all windows",
            every_seconds=1,
        )
        assert stream.alive  # Kafka's end is not the job's
        stream.stop()
        wanted = expected(bootstrap, "inflight.samples", RULES)
        assert len(wanted) == ROWS
        assert window_rows(bootstrap, "inflight.windows")[0] == wanted
    finally:
        if stream.alive:
            stream.kill()
