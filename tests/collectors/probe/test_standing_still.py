"""Probes whose process stands still for a while: what it could not see is not lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from apart import Apart, account, stand_still
from standin_clients import StandIn

from collectors.contract.records import SECOND_NS

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.e2e
PATHS = ("acked", "quick", "fan/a", "fan/b", "expiring")


@pytest.fixture
def text(artemis: Artemis, router: StandIn, tmp_path: Path) -> str:
    """Paths through a router, and one through a broker's queue, in which messages expire."""
    mark = tmp_path.name
    return f"""
endpoints:
  a: {{url: "amqp://127.0.0.1:{router.port}"}}
  b: {{url: "amqp://127.0.0.1:{router.port}"}}
  q: {{url: "{artemis.amqp_url}"}}
defaults: {{window: 1s, settle: 3s}}
paths:
  acked: {{from: a, to: a, address: closest/{mark}/acked, rate: 100/s}}
  quick: {{from: a, to: a, address: closest/{mark}/quick, rate: 300/s, presettled: true}}
  fan: {{from: a, to: [a, b], address: multicast/{mark}/fan, rate: 100/s, presettled: true}}
  expiring: {{from: q, to: q, address: inflight.{mark}.expiring, rate: 100/s, ttl: 1s}}
"""


@pytest.fixture
def ends(text: str, tmp_path: Path) -> Iterator[list[Apart]]:
    """A process that receives and one that sends, at work."""
    receiving = Apart(tmp_path / "ends", text, "receive")
    receiving.wait_records(5)
    sending = Apart(tmp_path / "ends", text, "send")
    receiving.wait_received(PATHS)
    started = [receiving, sending]
    yield started
    for end in started:
        if end.process.poll() is None:
            end.kill()


@pytest.mark.parametrize("seconds", [2, 20])
def test_a_receiver_that_stood_still_lost_nothing(text: str, ends: list[Apart], seconds: int) -> None:
    """What is missing is unobserved, and windows whose messages it concerns are flagged; no others are."""
    from_ns, to_ns = stand_still(ends[0], seconds, ends)
    accounted = account(text, ends)
    for path in PATHS:
        total = accounted.total(path)
        assert total["lost"] == total["unexpected"] == 0
        assert total["received"] + total["refused"] + total["unobserved"] == total["sent"]
        for row in accounted.rows(path):
            start_ns = row["window_start_ns"]
            if start_ns + 4 * SECOND_NS > from_ns and start_ns < to_ns:
                assert "receiver_gap" in row["flags"]
            elif row["sent"]:
                assert row["classes"]["received"] == row["sent"]
    if seconds >= 20:  # longer than peers wait
        assert accounted.total("quick")["unobserved"] > 100


def test_a_sender_that_stood_still_sends_no_backlog(text: str, ends: list[Apart]) -> None:
    """What was due meanwhile is unsent, and told as stalled; what was sent is received, as fast as ever.

    But for a message that was just being sent: its peer may have lost patience in the midst of it.
    """
    seconds = 20
    stand_still(ends[1], seconds, ends)
    accounted = account(text, ends)
    for path, per_second in zip(PATHS, (100, 300, 100, 100, 100), strict=True):
        total = accounted.total(path)
        assert total["unobserved"] == total["unexpected"] == total["refused"] == 0
        assert total["lost"] + total["received"] == total["sent"]
        assert total["lost"] <= 1
        assert per_second * seconds <= total["unsent stalled"] < per_second * (seconds + 2)
        assert total["due"] == total["sent"] + total["unsent stalled"]
    for record in accounted.records:
        if record.received is not None:
            assert np.count_nonzero(record.received.delay_ns > SECOND_NS) <= 1


@pytest.mark.parametrize("goes_on", [False, True], ids=["stopped", "just gone on"])
def test_a_receiver_killed_where_it_stood_still_lost_nothing(
    text: str, ends: list[Apart], tmp_path: Path, *, goes_on: bool
) -> None:
    """Neither one that is killed while it stands still, nor one that goes on, and has not published yet."""
    receiving, sending = ends
    os.kill(receiving.process.pid, signal.SIGSTOP)
    time.sleep(2)
    if goes_on:
        os.kill(receiving.process.pid, signal.SIGCONT)
        time.sleep(0.02)
    receiving.kill()
    again = Apart(tmp_path / "ends", text, "receive")
    ends.append(again)
    again.wait_records(15)
    sending.end()
    again.end()
    accounted = account(text, ends)
    for path in PATHS:
        total = accounted.total(path)
        assert total["lost"] == total["unexpected"] == 0
        assert total["received"] + total["refused"] + total["unobserved"] == total["sent"]
