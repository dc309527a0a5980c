"""Ends on two hosts, the clock of one of which is wrong, and steps while it runs: what is then told."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from config_file import write_config
from helpers import wait_until
from probe_process import ProbeProcess, final_rows, written
from standin_clients import StandIn

from collectors.contract.records import SECOND_NS, Header
from collectors.contract.window_rows import WindowRow
from collectors.process import wall_clock

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
_BEFORE, _AFTER = 3, -2  # seconds that the wrong clock is ahead
_OF_ONE_RUN_EACH = 2
_READ_APART_NS = SECOND_NS // 4  # wall and monotonic clock are not read in one moment


@pytest.fixture
def router(tmp_path: Path) -> Iterator[StandIn]:
    running = StandIn(tmp_path, "R")
    yield running
    running.stop()


@pytest.mark.parametrize("wrong", ["receiver", "sender"])
def test_a_wrong_clock_is_known_and_a_step_begins_a_new_run(
    kafka: Kafka, router: StandIn, tmp_path: Path, wrong: str
) -> None:
    """Nothing is lost by it: offsets are told with their bounds, latencies raw, negative ones counted."""
    config = write_config(
        tmp_path,
        router.port,
        "{p: {from: a, to: a, address: closest/clocks, rate: 100/s}}",
        defaults="window: 1s, settle: 2s",
        kafka=kafka.bootstrap,
        prefix=f"clocks-{tmp_path.name}",
    )
    clock = tmp_path / "clock"
    wall_clock.write(clock, _BEFORE * SECOND_NS)
    probes: list[ProbeProcess] = []
    try:
        for option, role in (("--receive", "receiver"), ("--send", "sender")):
            probes.append(ProbeProcess(config, option, clock=clock if role == wrong else None))
            if role == "receiver":
                probes[-1].wait_ready()
        receiving, sending = probes
        sending.wait_count("accepted", 1_100)
        wall_clock.write(clock, _AFTER * SECOND_NS)
        stepping = receiving if wrong == "receiver" else sending
        wait_until(lambda: _steps(stepping) == 1, 60, "the step to be noticed")
        sending.wait_count("accepted", sending.count("accepted") + 900)
        assert [sending.end(signal.SIGTERM), receiving.end(signal.SIGTERM)] == [0, 0]
    finally:
        for probe in probes:
            if probe.process.poll() is None:
                probe.process.kill()
                probe.process.wait()
    records = written(config)
    headers = [record.header for record, _, _ in records]
    runs = {
        role: list(dict.fromkeys(header.run for header in headers if header.role == role))
        for role in ("receiver", "sender")
    }
    assert {role: len(of_role) for role, of_role in runs.items()} == {"receiver": 1, "sender": 1, wrong: 2}
    byes = [header.run for header in headers if header.kind == "bye"]
    assert sorted(byes) == sorted([*runs["receiver"], *runs["sender"]])
    _offsets_are_right(headers, dict(zip(runs[wrong], (_BEFORE, _AFTER), strict=True)))
    _rows_add_up(final_rows(config, records))


def _offsets_are_right(headers: list[Header], ahead: dict[str, int]) -> None:
    """Receivers tell how far their clock is from each sender's; `ahead` is how wrong the runs' clocks are."""
    told = [(h.run, sender, clock) for h in headers for sender, clock in h.clock.items()]
    assert len(told) >= 4
    for receiver, sender, clock in told:
        true_ns = (ahead.get(receiver, 0) - ahead.get(sender, 0)) * SECOND_NS
        assert abs(clock.offset_ns - true_ns) <= clock.bound_ns + _READ_APART_NS
        assert 0 < clock.bound_ns < SECOND_NS


def _rows_add_up(rows: list[WindowRow]) -> None:
    total: Counter[str] = Counter()
    for row in rows:
        assert sum(row["classes"].values()) == row["sent"]
        total.update(row["classes"], negative=row["negative"])
    assert total["lost"] == 0
    assert total["received"] >= 1_900
    # Negative are those that came while the receiver's clock was behind the sender's, and no others.
    assert 500 <= total["negative"] < total["received"]
    behind = []
    for row in rows:
        if row["clock"] and row["sent"] and len(row["members"]) == _OF_ONE_RUN_EACH:
            behind.append(row["clock"]["offset_ns"] < 0)
            assert row["negative"] == (row["classes"]["received"] if behind[-1] else 0)
    assert set(behind) == {True, False}
    assert any(not row["flags"] for row in rows if row["sent"])


def _steps(probe: ProbeProcess) -> int:
    line = next(x for x in probe.metrics().splitlines() if x.startswith("inflight_probe_clock_steps_total"))
    return int(float(line.rpartition(" ")[2]))
