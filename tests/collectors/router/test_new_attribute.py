"""An attribute that becomes a metric is one row of the schema and one of the catalogue, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def test_a_row_is_enough() -> None:
    """It is asked for by its name, and summed, scaled and labelled as its row says; so is its record."""
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("_added_rows.py"))],
        cwd=PROJECT,
        env={"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(ran.stdout)
    assert {"redeliveredCount", "slowestNs", "priority"} <= {*found["asked"]}
    shown = dict(line.rsplit(" ", 1) for line in found["shown"])
    labels = 'mesh="m",router="QDR.C",peer="",address="closest/p2",direction="out",type="endpoint"'
    # 7 before the first look, 12 at the second one; of a group the sum, or the highest.
    assert float(shown[f"inflight_router_link_redelivered_total{{{labels}}}"]) == 5
    assert float(shown[f"inflight_router_link_slowest_seconds{{{labels}}}"]) == 2.5
    single = [float(value) for name, value in shown.items() if "router_single_link_redelivered_total" in name]
    assert single == [12.0] * 29
    connectors = [float(value) for name, value in shown.items() if "router_connector_priority" in name]
    assert connectors
    assert {*connectors} == {4.0}
    (link,) = [row for row in found["links"] if (row["address"], row["direction"]) == ("closest/p2", "out")]
    assert link | {"redelivered": 5, "redelivered_added": 5, "slowest": 2_500_000_000} == link
