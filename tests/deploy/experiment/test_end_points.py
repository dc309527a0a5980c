"""An experiment on end points that are there already, in this process."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from standin_clients import StandIn

from deploy.experiment import plan, runner
from deploy.experiment.folder import Folder

pytestmark = pytest.mark.slow

CONFIG = """\
version: 1
site: here
endpoints:
  east: {{url: "amqp://127.0.0.1:{port}"}}
paths:
  one: {{from: east, to: east, address: closest/one, rate: 1/s}}
  two: {{from: east, to: east, address: closest/two, rate: 1/s}}
"""
PLAN = """\
version: 1
name: there
says: Does what is there carry it?
network: {config: inflight.yaml}
load: {rate: 50/s, paths: [two]}
phases: {warm-up: 1s, steady: 3s}
actions:
  - {do: command, what: east, run: [echo, done on purpose], after: 1s}
must: ["lost <= 0%", "two: sent >= 150"]
"""


def test_end_points_of_a_config_are_measured(tmp_path: Path, router: StandIn) -> None:
    """By the chosen paths at the plan's rate; a command runs beside, and what it wrote is kept."""
    (tmp_path / "inflight.yaml").write_text(CONFIG.format(port=router.port))
    (tmp_path / "plan.yaml").write_text(PLAN)
    experiment = plan.read(tmp_path / "plan.yaml")
    folder = Folder.new(tmp_path / "results", experiment)
    said: list[str] = []
    status = runner.Runner(experiment, folder, said.append).run(threading.Event())
    assert status == runner.HELD, said
    (summary,) = folder.summaries()
    assert summary["figures"].keys() == {"all", "two"}
    assert summary["figures"]["two"]["sent"] == pytest.approx(150, abs=2)
    assert summary["memory"] == {}
    (action,) = json.loads((tmp_path / "results" / "runs" / "0001" / "actions.json").read_text())
    assert action["results"][0]["output"] == "done on purpose\n"
    assert action["results"][0]["status"] == 0
    # All is there: nothing is left to be resumed.
    assert runner.Runner(experiment, folder, said.append).run(threading.Event()) == runner.HELD
    assert said[-1] == "all that must hold held"
