"""The study of tiers, shorter still: its runs are carried out, and its table has the promised shape."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers import missing

from deploy.embedded.programs import postgres
from deploy.errors import Problem

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

STUDY = Path(__file__).parents[3] / "deploy/examples/experiments/tiers-database.yaml"
BOUND_SECONDS = 600  # of three short runs, on a machine that has much else to do


def test_a_request_by_tier(tmp_path: Path) -> None:
    """One client's requests: three runs, one table, whose rows are of client, broker and store."""
    try:
        postgres.programs()
    except Problem:
        missing("postgres")
    study = yaml.safe_load(STUDY.read_text())
    del study["factors"]["client"]["even"]
    study["forms"]["small"]["phases"] = {"warm-up": "1s", "steady": "4s"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    results = tmp_path / "results"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "deploy", "experiment", "run", tmp_path / "study.yaml"),
            *("--form", "small", "--out", results),
        ],
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((results / "summary.json").read_text())
    runs = {run["levels"]["middle"]: run for run in summary["runs"]}
    assert {*runs} == {"router", "journal", "database"}
    for run in runs.values():
        assert run["figures"]["all"]["received"] > 0
        assert run["figures"]["all"]["lost"] == 0
    assert "middle.database" in runs["database"]["memory"]
    (table,) = summary["tiers"]
    assert table["levels"] == {"middle": "database", "client": "one-by-one"}
    assert [row["tier"] for row in table["rows"]] == ["client", "client", "broker", "broker", "store", None]
    assert table["whole_ns"] == pytest.approx(runs["database"]["figures"]["all"]["mean_ns"])
    assert sum(row["own_ns"] for row in table["rows"]) == pytest.approx(table["whole_ns"])
