"""`inflight dashboards publish` and `diff` against a real Grafana."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from running import Running

from dashboards import build
from dashboards.alerts import grafana_rules
from dashboards.alerts.rules import Alert, Group
from dashboards.grafana import Grafana
from dashboards.publish import FOLDER_UID, Publisher, Wanted
from deploy.cli import main

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are evaluated as often as Grafana does it at all: a test waits for it."""
    monkeypatch.setattr(grafana_rules, "INTERVAL_SECONDS", 10)


@pytest.fixture
def client(running: Running) -> Grafana:
    return Grafana(running.grafana_url, running.token_file.read_text().strip())


@pytest.fixture
def inflight(running: Running) -> Callable[..., Result]:
    """The command, with where Grafana and Prometheus are."""

    def run(*arguments: str) -> Result:
        where = ["--url", running.grafana_url, "--token-file", str(running.token_file)]
        return CliRunner().invoke(main, ["dashboards", arguments[0], *where, *arguments[1:]])

    return run


def test_publishing_once_and_again(
    inflight: Callable[..., Result], running: Running, client: Grafana
) -> None:
    """A dry run changes nothing; the first one makes all of it, and the second one finds nothing to do."""
    own = ("--prometheus", running.prometheus_url)
    dry = inflight("publish", *own, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "would make dashboard Inflight: Overview" in dry.output
    assert '+  "uid": "inflight-overview"' in dry.output
    assert client.folder(FOLDER_UID) is None
    assert inflight("diff", *own).exit_code == 1

    first = inflight("publish", *own, "--runbooks", "http://exporter:9750/runbook")
    assert first.exit_code == 0, first.output
    assert "every panel's queries run, and every rule is well" in first.output
    assert all(f"make dashboard {board['title']}" in first.output for board in build.dashboards().values())
    rules = {rule["uid"]: rule for rule in client.rules()}
    assert len(rules) == 20
    silent = rules["inflight-pathsilent"]["annotations"]
    assert silent["runbook_url"] == "http://exporter:9750/runbook#pathsilent"
    assert silent["dashboard"].startswith(running.grafana_url + "/d/inflight-path?")

    again = inflight("publish", *own, "--runbooks", "http://exporter:9750/runbook")
    assert again.exit_code == 0, again.output
    assert again.output.splitlines()[0].endswith("holds all of it")
    assert inflight("diff", *own, "--runbooks", "http://exporter:9750/runbook").exit_code == 0


def test_what_hands_changed_is_put_right(
    inflight: Callable[..., Result], running: Running, client: Grafana
) -> None:
    """Only what differs is written; a rule of ours that is no more is deleted, one of others stays."""
    own = ("--prometheus", running.prometheus_url, "--no-check")
    assert inflight("publish", *own).exit_code == 0
    board = client.dashboard("inflight-path")
    assert board is not None
    client.put_dashboard({**board["dashboard"], "refresh": "1d"}, FOLDER_UID)
    rule = next(rule for rule in client.rules() if rule["uid"] == "inflight-routerdown")
    client.put_rule({**rule, "for": "1h"}, new=False)
    other = {key: value for key, value in rule.items() if key != "id"}
    for uid in ("inflight-of-old-times", "somebody-elses"):
        client.put_rule({**other, "uid": uid, "title": uid, "ruleGroup": "others"}, new=True)

    found = inflight("publish", *own)
    assert found.exit_code == 0, found.output
    assert "--runbooks URL has them link to it" in found.output
    assert found.output.splitlines()[:3] == [
        "change dashboard Inflight: Path",
        "change rule RouterDown",
        "delete rule inflight-of-old-times",
    ]
    assert "somebody-elses" in {rule["uid"] for rule in client.rules()}
    client.delete_rule("somebody-elses")


def test_a_query_that_grafana_cannot_run_is_found(client: Grafana) -> None:
    """Grafana saves a panel of nonsense and answers 200; running its query tells."""
    board = json.loads((build.FOLDER / "path.json").read_text(encoding="utf-8"))
    board["panels"][0]["targets"][0]["expr"] = "sum(inflight_path_info{"
    publisher = Publisher(client, Wanted({"path": board}, source="Prometheus"))
    failing = list(publisher.failing_queries())
    assert len(failing) == 1
    assert failing[0].startswith("Inflight: Path, State (A): ")
    assert "parse error" in failing[0]


def test_a_rule_that_cannot_be_evaluated_is_found(client: Grafana, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grafana takes a rule whose expression is nonsense; its health after an evaluation tells."""
    broken = Alert("Broken", expr="sum(", severity="ticket", summary="no", board="path")
    monkeypatch.setattr(grafana_rules, "ALERTS", (Group("broken", (broken,)),))
    publisher = Publisher(client, Wanted({}, source="Prometheus"))
    publisher.publish(lambda _: None)
    ill = publisher.unhealthy_rules(90)
    assert len(ill) == 1
    assert ill[0].startswith("Broken: ")
    monkeypatch.undo()
    Publisher(client, Wanted({}, source="Prometheus")).publish(lambda _: None)
    assert "inflight-broken" not in {rule["uid"] for rule in client.rules()}


def test_a_data_source_has_to_be_told_where_it_is_not_plain(inflight: Callable[..., Result]) -> None:
    """A name that Grafana does not know is told, with exit status 2."""
    found = inflight("diff", "--source", "nowhere")
    assert found.exit_code == 2
    assert "Grafana has no Prometheus data source called 'nowhere'" in found.output
