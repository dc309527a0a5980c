"""One path's ends in several processes of `inflight probe`, as on several hosts."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from config_file import write_config
from probe_process import ProbeProcess, command, final_rows, written
from standin_clients import StandIn

from collectors.contract.records import SECOND_NS, Record

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
_OPEN_NS = 3 * SECOND_NS  # window and settle: so long the receivers have to be there
_PATH = "{from: a, to: a, address: closest/split, rate: 100/s, senders: 2, receivers: 2}"


@pytest.fixture
def config(kafka: Kafka, tmp_path: Path) -> Iterator[Path]:
    """A path with two senders and two receivers, through a router."""
    router = StandIn(tmp_path, "R")
    yield write_config(
        tmp_path,
        router.port,
        f"{{split: {_PATH}}}",
        defaults="window: 1s, settle: 2s",
        kafka=kafka.bootstrap,
        prefix=f"several-{tmp_path.name}",
    )
    router.stop()


@pytest.fixture
def start(config: Path) -> Iterator[Any]:
    """Starts probes, and ends them whatever happens."""
    started: list[ProbeProcess] = []

    def make(*options: str) -> ProbeProcess:
        started.append(ProbeProcess(config, *options))
        return started[-1]

    yield make
    for probe in started:
        if probe.process.poll() is None:
            probe.process.kill()
            probe.process.wait()


def test_each_end_in_a_process_of_its_own(config: Path, start: Any) -> None:
    """Two senders taking turns, and a process with both receivers: all counted, every clock known."""
    receiving = start("--receive")
    receiving.wait_ready()
    senders = [start("--send", "--number", str(number)) for number in range(2)]
    for sender in senders:
        sender.wait_count("accepted", 300)
    _refuses_a_second(config)
    for sender in senders:
        assert sender.end(signal.SIGTERM) == 0
    assert receiving.end(signal.SIGTERM) == 0
    records = written(config)
    sending = {r.header.name: r.header.run for r, _, _ in records if r.header.role == "sender"}
    assert sorted(sending) == ["a-0", "a-1"]
    assert len({r.header.run for r, _, _ in records}) == 4
    rows = final_rows(config, records)
    total: Counter[str] = Counter()
    for row in rows:
        assert sum(row["classes"].values()) == row["sent"]
        total.update(row["classes"])
    assert total["lost"] == total["refused"] == 0
    assert total["received"] >= 600
    # Each sender is due every 20 ms: the rate is shared, not doubled.
    assert max(row["due"] for row in rows) == 100
    left_ns = min(r.header.frontier_ns for r, _, _ in records if r.header.role == "receiver" and _is_bye(r))
    away = [span for r, _, _ in records for span in r.header.unwatched]
    whole = [
        row
        for row in rows
        if row["due"] == 100
        and row["window_start_ns"] + _OPEN_NS <= left_ns
        and not any(_meet(row["window_start_ns"], span) for span in away)
    ]
    assert len(whole) >= 2
    for row in whole:
        assert (row["flags"], len(row["members"])) == ([], 4)


def _meet(start_ns: int, unwatched: tuple[int, int]) -> bool:
    """Whether a receiver's process stood still, on a busy machine, while the window was awaited."""
    from_ns, to_ns = unwatched
    return from_ns < start_ns + _OPEN_NS and start_ns < to_ns


def _is_bye(record: Record) -> bool:
    return record.header.kind == "bye"


def _refuses_a_second(config: Path) -> None:
    """An end that runs already would be taken for one that began anew."""
    twice = subprocess.run(
        command(config, "--send", "--number", "1", "--listen", "127.0.0.1:0"),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert twice.returncode == 2
    told = twice.stderr.splitlines()[-1]
    assert told.startswith("inflight: path split: sender a-1 is run by another process of this host already")
    none = subprocess.run(
        command(config, "--send", "--number", "2"), capture_output=True, text=True, check=False, timeout=30
    )
    assert none.returncode == 2
    assert "no path has an end of that --number; they are counted from 0, and end at 1" in none.stderr
