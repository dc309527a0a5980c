"""`inflight probe` with a real Kafka, killed with -9: nothing that was measured is lost."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from config_file import write_config
from probe_process import ProbeProcess, Written, final_rows, written
from standin_clients import StandIn

from collectors.config import load

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
_PATHS = """
  acked: {from: a, to: a, address: closest/acked, rate: 100/s}
  quick: {from: a, to: a, address: closest/quick, rate: 300/s, presettled: true}
  marked: {from: a, to: a, address: closest/marked, rate: 200/s, presettled: true, marking: 2s}
"""


@pytest.fixture
def config(kafka: Kafka, tmp_path: Path) -> Iterator[Path]:
    """One acknowledged and two presettled paths through a router, of which one changes its address."""
    router = StandIn(tmp_path, "R")
    yield write_config(
        tmp_path,
        router.port,
        _PATHS,
        defaults="window: 1s, settle: 2s",
        kafka=kafka.bootstrap,
        prefix=f"killed-{tmp_path.name}",
    )
    router.stop()


def test_killed_and_started_again(config: Path) -> None:
    """The old run's last seconds are published by the next start; what nobody saw is unobserved, not lost."""
    first = ProbeProcess(config)
    first.wait_count("received", 2_000)
    first.end(signal.SIGKILL)
    state = load.load(config).state / "probe" / "0"
    assert list((state / "journal").iterdir())
    second = ProbeProcess(config)
    second.wait_count("received", 2_000)
    assert second.end(signal.SIGTERM) == 0
    assert list((state / "journal").iterdir()) == []
    records = written(config)
    for path in ("acked", "quick", "marked"):
        _check_path(config, [record for record in records if record[0].header.path == path])


def _check_path(config: Path, records: list[Written]) -> None:
    byes = [record.header.run for record, _, _ in records if record.header.kind == "bye"]
    runs = {record.header.run for record, _, _ in records}
    assert (len(runs), len(byes)) == (4, 2)
    numbers: dict[str, list[int]] = {}
    for record, _, _ in records:
        numbers.setdefault(record.header.run, []).append(record.header.number)
    for found in numbers.values():
        # Records may come twice after a kill; none is missing.
        assert list(dict.fromkeys(found)) == list(range(max(found) + 1))
    total: Counter[str] = Counter()
    for row in final_rows(config, records):
        assert sum(row["classes"].values()) == row["sent"]
        total.update(row["classes"])
        total["unexpected"] += row["unexpected"]
        total["reordered"] += row["reordered"]
    assert total["lost"] == total["unexpected"] == total["reordered"] == 0
    assert total["received"] >= 200
