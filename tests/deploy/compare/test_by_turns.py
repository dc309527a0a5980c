"""`compare --run` measures A and B by turns, on stand-ins; and what it refuses before it begins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deploy.cli import main

BOUND_SECONDS = 300  # of a few seconds' measuring, on a machine that has much else to do
PLAN = """\
version: 1
name: NAME
says: Do messages come through?
network:
  stand-ins: true
  topology:
    program: qdrouterd
    routers: {A: {}}
load:
  rate: 50/s
  paths: {x: {from: A, to: A, address: turns}}
phases: {steady: 2s}
repetitions: 2
"""


@pytest.fixture
def plans(tmp_path: Path) -> tuple[Path, Path]:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(PLAN.replace("NAME", name))
    return tmp_path / "a.yaml", tmp_path / "b.yaml"


def told(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


@pytest.mark.slow
def test_each_run_of_a_has_one_of_b_beside_it(plans: tuple[Path, Path], tmp_path: Path) -> None:
    """First A, then B, then B first; too few and too short for a verdict. Again measures nothing."""
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "deploy",
        "compare",
        "--run",
        *map(str, plans),
        "--out",
        str(out),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert done.returncode == 3, done.stderr
    value = json.loads(done.stdout)
    assert value["word"] == "unclear"
    assert value["verdicts"][0]["repetitions"] == [2, 2]
    began = {
        (side, number): json.loads((out / side / f"runs/000{number}/summary.json").read_text())["began_ns"]
        for side in "ab"
        for number in (1, 2)
    }
    assert sorted(began, key=lambda run: began[run]) == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    again = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert again.returncode == 3
    assert json.loads(again.stdout) == value
    assert "measuring" not in again.stderr


def test_plans_that_ask_for_different_things(plans: tuple[Path, Path], tmp_path: Path) -> None:
    """Told before anything is measured."""
    plans[1].write_text(plans[1].read_text().replace("50/s", "60/s"))
    done = told("--run", *plans, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "load.rate: 50/s in A, 60/s in B" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("repetitions: 2", "repetitions: 3"), "both are repeated as often: A has 2 repetitions, B 3"),
        (("rate: 50/s", "rate: fast"), "b.yaml cannot be used:"),
    ],
)
def test_plans_that_do_not_go_together(
    plans: tuple[Path, Path], tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    """Or cannot be read."""
    plans[1].write_text(plans[1].read_text().replace(*change))
    done = told("--run", *plans, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert said in done.output


def test_a_folder_of_another_plan_is_left_alone(plans: tuple[Path, Path], tmp_path: Path) -> None:
    """Its runs would be compared with those of this one."""
    (tmp_path / "out/a").mkdir(parents=True)
    (tmp_path / "out/a/experiment.json").write_text('{"format": 1, "document": {"name": "other"}}')
    done = told("--run", *plans, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "holds runs of another plan: name another folder by --out" in done.output


def test_options_of_run_alone(tmp_path: Path) -> None:
    """Without it there is nothing to measure."""
    for option in ("--form", "--out"):
        done = told(tmp_path, tmp_path, option, "x")
        assert done.exit_code == 2
        assert "--form and --out are of --run" in done.output
