"""The alert and recording rules, as promtool's Prometheus evaluates them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import missing
from rule_cases import BUDGETS, PATHS, ROUTERS
from rule_cases_more import BROKERS, MONITOR

import dashboards
from dashboards.promql import SERIES, metrics

FOLDER = Path(dashboards.__file__).parent / "rules"
FILES = [FOLDER / "recording.rules.yml", FOLDER / "alerts.rules.yml"]
OPTIONAL = FOLDER / "optional" / "info.rules.yml"
RUNBOOK = FOLDER.parent / "RUNBOOK.md"
STORIES = {"PATHS": PATHS, "BUDGETS": BUDGETS, "ROUTERS": ROUTERS, "BROKERS": BROKERS, "MONITOR": MONITOR}


def _rules(*files: Path) -> list[dict[str, Any]]:
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = [rule for rule in _rules(*FILES, OPTIONAL) if "alert" in rule]


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        missing("promtool")
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60, check=False)


def _severities(alert: str, labels: dict[str, str]) -> str:
    paces = {("DeliveryBudgetBurn", "slow"): "ticket", ("LatencyBudgetBurn", "slow"): "ticket"}
    page = (
        "PathSilent",
        "AcceptedMessagesLost",
        "DeliveryBudgetBurn",
        "LatencyBudgetBurn",
        "BrokerNearLimit",
    )
    if alert == "Watchdog":
        return "none"
    return paces.get((alert, labels.get("pace", "")), "page" if alert in page else "ticket")


def _test(case: Any) -> dict[str, Any]:
    """A case as promtool's: by the series ALERTS, which has the labels and not the texts."""
    expression = f'ALERTS{{alertname="{case.alert}",alertstate="firing"}}'
    expected = [
        {
            "alertname": case.alert,
            "alertstate": "firing",
            "severity": _severities(case.alert, labels),
            **labels,
        }
        for labels in case.fires
    ]
    samples = [
        {"labels": "ALERTS{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}", "value": 1}
        for labels in expected
    ]
    return {
        "name": f"{case.alert} {case.story}",
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "promql_expr_test": [
            {"expr": expression, "eval_time": f"{round(case.minute * 60)}s", "exp_samples": samples}
        ],
    }


def _run(cases: tuple[Any, ...], directory: Path) -> None:
    file = directory / "cases.yml"
    content = {
        "rule_files": [str(path) for path in FILES],
        "evaluation_interval": "15s",
        "tests": [_test(case) for case in cases],
    }
    file.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    done = _promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", ["PATHS", "BUDGETS", "ROUTERS", "BROKERS", "MONITOR"])
def test_alerts_fire_when_they_should_and_only_then(part: str, tmp_path: Path) -> None:
    """Each story of each alert: fires, does not, data gone, exporter restarted, ten minutes in one scrape."""
    _run(STORIES[part], tmp_path)


def test_each_alert_has_each_kind_of_story() -> None:
    """None is without a story in which it fires, one in which it does not, and the three of broken data."""
    needed = {"data gone", "restarted", "one scrape"}
    for rule in _rules(*FILES):
        name = rule.get("alert")
        if name in {None, "Watchdog"}:
            continue
        own = [case for cases in STORIES.values() for case in cases if case.alert == name]
        told = " ".join(case.story for case in own).replace("a late scrape", "one scrape")
        assert any(case.fires for case in own), name
        assert any(not case.fires for case in own), name
        assert {kind for kind in needed if kind in told} == needed, name
