"""Probes through a line of real routers, qdrouterd and skrouterd, where they are on the PATH."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apart import Apart, account, stand_still
from real_routers import each_program, running
from real_routers import line as line_of

from deploy.lab.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", **each_program)
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A - B - C."""
    with running(line_of(request.param), tmp_path_factory.mktemp("real-line")) as lab:
        yield lab


def _config(line: Lab, path: str) -> str:
    ends = "\n".join(f"  {name}: {{url: '{router.url}'}}" for name, router in line.routers.items())
    return f"""
endpoints:
{ends}
defaults: {{window: 1s, settle: 1s, rate: 200/s, count: 100}}
paths: {{p: {{from: A, {path}}}}}
"""


@pytest.mark.parametrize("presettled", ["false", "true"])
def test_all_arrive_over_two_hops(line: Lab, run: Any, presettled: str) -> None:
    """Every message is received, with the outcome that the routers pass back."""
    address = f"inflight/real-{presettled}"
    measured = run(_config(line, f"to: C, address: '{address}', presettled: {presettled}"))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 100, "received": 100, "due": 100}


def test_a_multicast_reaches_each_receiver(line: Lab, run: Any) -> None:
    """Each of the flow's paths accounts for all messages."""
    measured = run(_config(line, "to: [B, C], address: multicast/inflight-real"))
    measured.wait_finished()
    measured.finish()
    for path in ("p/B", "p/C"):
        assert measured.total(path) == {"sent": 100, "received": 100, "due": 100}


def test_competing_receivers_share_what_two_senders_send(line: Lab, run: Any) -> None:
    """Two senders and three receivers: nothing is counted twice, nothing is missing."""
    measured = run(_config(line, "to: C, address: inflight/real-shared, senders: 2, receivers: 3"))
    measured.wait_finished()
    measured.finish()
    total = measured.total("p")
    assert total["sent"] == total["received"] == total["due"]
    assert "lost" not in total


def test_a_receiver_that_stood_still_lost_nothing(line: Lab, tmp_path: Path) -> None:
    """Longer than routers wait for it: what they dropped or gave back meanwhile is none of their losses."""
    address = "inflight/real-still"
    text = _config(line, f"to: C, address: '{address}', presettled: true, count: 100000")
    receiving = Apart(tmp_path / "ends", text, "receive")
    receiving.wait_records(3)
    ends = [receiving, Apart(tmp_path / "ends", text, "send")]
    ends[1].wait_records(6)
    stand_still(receiving, 20, ends, records=4)
    total = account(text, ends).total("p")
    assert total["lost"] == total["unexpected"] == 0
    assert total["received"] + total["unobserved"] == total["sent"]
    assert total["unobserved"] > 100
