"""The alert and recording rules, as promtool's Prometheus evaluates them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import missing
from rule_cases import BUDGETS, PATHS, ROUTERS
from rule_cases_more import BROKERS, MONITOR

import dashboards
from dashboards.alerts import files as rule_files
from dashboards.promql import SERIES, metrics

pytestmark = pytest.mark.slow

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
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=240, check=False)


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
    """With the groups that they are about: promtool evaluates every rule at every step of every story."""
    names = {case.alert for case in cases}
    groups = [
        group
        for file in FILES
        for group in yaml.safe_load(file.read_text())["groups"]
        if any(rule.get("alert") in names for rule in group["rules"])
        or (names & {"DeliveryBudgetBurn", "LatencyBudgetBurn"} and "record" in group["rules"][0])
    ]
    (directory / "rules.yml").write_text(yaml.safe_dump({"groups": groups}, sort_keys=False))
    file = directory / "cases.yml"
    content = {
        "rule_files": ["rules.yml"],
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


def test_committed_files_are_what_the_data_makes() -> None:
    """Whoever changes a rule changes the data, and `inflight dashboards build` writes the files."""
    assert [file.name for file in rule_files.stale()] == []
    assert {FOLDER / name for name in rule_files.texts()} == set(FOLDER.rglob("*.yml"))


def test_promtool_finds_nothing_wrong() -> None:
    """All files parse, those that are off by default too."""
    done = _promtool("check", "rules", *map(str, [*FILES, OPTIONAL]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_read_what_is_exported_or_recorded() -> None:
    """A rule over a series that nobody makes would be silent for ever."""
    recorded = {rule["record"] for rule in _rules(*FILES) if "record" in rule} | {"ALERTS"}
    for rule in _rules(*FILES, OPTIONAL):
        read = metrics(" ".join(line.partition(" #")[0] for line in rule["expr"].splitlines()))
        assert read <= SERIES.keys() | recorded, rule


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"] + rule["labels"].get("pace", ""))
def test_each_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    """A severity, a summary, a dashboard that is there, and a section of the runbook."""
    assert rule["labels"]["severity"] in {"page", "ticket", "info", "none"}
    assert rule["annotations"]["summary"]
    board = rule["annotations"]["dashboard"].partition("?")[0].removeprefix("/d/inflight-")
    assert (FOLDER.parent / "json" / f"{board}.json").exists()
    place = rule["annotations"]["runbook_url"].rpartition("#")[2]
    sections = [line[3:].lower() for line in RUNBOOK.read_text().splitlines() if line.startswith("## ")]
    assert place in sections
    assert place in {rule["alert"].lower(), "info"}


def test_only_what_is_named_wakes_somebody() -> None:
    """Silence, accepted loss, the fast burns, and a broker at its limit; info is in no file that is on."""
    page = {(r["alert"], r["labels"].get("pace")) for r in ALERTS if r["labels"]["severity"] == "page"}
    assert page == {
        ("PathSilent", None),
        ("AcceptedMessagesLost", None),
        ("DeliveryBudgetBurn", "fast"),
        ("LatencyBudgetBurn", "fast"),
        ("BrokerNearLimit", None),
    }
    assert "info" not in {r["labels"]["severity"] for r in _rules(*FILES) if "alert" in r}


def test_the_alertmanager_example_speaks_of_these_alerts() -> None:
    """A misspelt name in an inhibition would inhibit nothing."""
    text = (FOLDER.parent / "alertmanager.example.yml").read_text()
    config = yaml.safe_load(text)
    names = {rule["alert"] for rule in ALERTS}
    matchers = [
        m for i in config["inhibit_rules"] for side in ("source", "target") for m in i[f"{side}_matchers"]
    ]
    for matcher in matchers:
        label, _, value = re.split(r"\s*(=~|=)\s*", matcher)
        if label == "alertname":
            assert set(value.strip('"').split("|")) <= names, matcher
    receivers = {r["name"] for r in config["receivers"]}
    assert {r["receiver"] for r in config["route"]["routes"]} <= receivers


# By hand: what somebody reads on a small screen at night, of the first stories in which an alert fires.
TEXTS: dict[str, tuple[str, ...]] = {
    "PathSilent": ("Path p: nothing delivered for 45s or more",),
    "AcceptedMessagesLost": (
        "Path p: 1 accepted messages lost within ten minutes",
        "Path p: 214 accepted messages lost within ten minutes",
    ),
    "DeliveryBudgetBurn": ("Path p: 2% not delivered over an hour",),
    "RouterDown": ("Router r of mesh m does not answer",),
    "MeshSplit": ("Mesh m is split: from a there is no way to c, d, reached by another URL",),
    "TopologyDiffers": ("Mesh m: 1 × missing_link against what the config expects",),
    "LinkStalled": ("Router r: 5 messages wait for q, and none went in a minute",),
    "QueueGrowsWithoutConsumer": ("Queue orders on b has 800 messages, no consumer, and grows",),
    "BrokerNearLimit": ("Broker b: 90% of disk in use",),
    "MonitorBlind": (
        "The monitor sees less than it should: probe end down (mesh m path p sender/a at s)",
        "The monitor sees less than it should: messages unobserved (mesh m path p)",
        "The monitor sees less than it should: clocks less sure than the latency (mesh m path p)",
        "The monitor sees less than it should: spool half full (probe at s)",
        "The monitor sees less than it should: records late (probe at s)",
        "The monitor sees less than it should: stands still (probe at s)",
        "The monitor sees less than it should: mesh not polled (mesh m)",
        "The monitor sees less than it should: broker not polled (mesh m broker b)",
        "The monitor sees less than it should: rows left out (topic router)",
    ),
    "PipelineStalled": ("The figures are not of now, or not right: no progress",),
}
# What the annotation `where` says of paths; in the stories that have one, a hop.
NO_HOP = "no hop is to blame so far; `inflight why p` asks again"
WHERE = {"fires: and a hop is to blame": "211 dropped at C → receiver"}


@pytest.mark.parametrize(
    ("exporter", "runbook"),
    [
        ({}, "dashboards/RUNBOOK.md"),
        (
            {'inflight_build_info{part="exporter",instance="monitor:9750"}': "1x200"},
            "http://monitor:9750/runbook",
        ),
    ],
    ids=["exporter gone", "exporter there"],
)
def test_texts_read_well(tmp_path: Path, exporter: dict[str, str], runbook: str) -> None:
    """The texts of these stories, as promtool's templates render them.

    The runbook is the exporter's own page, where Prometheus finds it.
    """
    tests = []
    for name, case, text in _told():
        rule = next(r for r in ALERTS if r["alert"] == name)
        labels = {"severity": rule["labels"]["severity"], **case.fires[0]}
        texts = {
            "summary": text,
            "runbook_url": f"{runbook}#{name.lower()}",
            "dashboard": _board(rule["annotations"]["dashboard"], labels),
        }
        if "where" in rule["annotations"]:
            texts["where"] = WHERE.get(case.story, NO_HOP)
        expected = [{"exp_labels": labels, "exp_annotations": texts}]
        if name == "DeliveryBudgetBurn":
            slow = {**labels, "severity": "ticket", "pace": "slow"}
            expected.append(
                {
                    "exp_labels": slow,
                    "exp_annotations": {**texts, "summary": "Path p: 2% not delivered over six hours"},
                }
            )
        test = _test(case._replace(series=case.series | exporter))
        del test["promql_expr_test"]
        at = f"{round(case.minute * 60)}s"
        tests.append(
            {**test, "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": expected}]}
        )
    file = tmp_path / "texts.yml"
    content = {"rule_files": [str(path) for path in FILES], "evaluation_interval": "15s", "tests": tests}
    file.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    done = _promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def _told() -> Iterator[tuple[str, Any, str]]:
    """Each text with its alert, and the story in which it is told."""
    for name, texts in TEXTS.items():
        fires = [case for cases in STORIES.values() for case in cases if case.alert == name and case.fires]
        for case, text in zip(fires, texts, strict=False):
            yield name, case, text


def _board(template: str, labels: dict[str, str]) -> str:
    for label, value in labels.items():
        template = template.replace("{{ $labels." + label + " }}", value)
    return template
