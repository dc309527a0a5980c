"""The embedded Prometheus: a real one, scraping itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import missing, wait_until

from deploy.embedded import http
from deploy.embedded.programs import prometheus
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

pytestmark = pytest.mark.e2e

RULE = """
groups:
  - name: test
    rules: [{record: answer, expr: vector(42)}]
"""


@pytest.fixture(autouse=True)
def _program() -> None:
    if prometheus.program() is None:
        missing("prometheus")


def value(url: str, query: str) -> str | None:
    result = json.loads(http.get(f"{url}/api/v1/query?query={query}"))["data"]["result"]
    return result[0]["value"][1] if result else None


def test_targets_are_scraped_and_rules_evaluated(tmp_path: Path) -> None:
    """A target given as host:port is up, and a rule file given has its recording rule evaluated."""
    rules = tmp_path / "rules.yml"
    rules.write_text(RULE)
    with Supervisor(tmp_path / "state") as supervisor:
        port = prometheus.free_port()
        server = prometheus.Prometheus(
            supervisor, targets={"itself": [f"127.0.0.1:{port}"]}, rules=[rules], port=port
        ).start()
        wait_until(lambda: value(server.url, "up") == "1", 15, "the first scrape")
        wait_until(lambda: value(server.url, "answer") == "42", 15, "the first evaluation")


def test_a_broken_rule_file_is_told(tmp_path: Path) -> None:
    """Prometheus' own words about the file are in the message."""
    rules = tmp_path / "rules.yml"
    rules.write_text("groups: [{name: test, rules: [{record: x, expr: '(('}]}]")
    with Supervisor(tmp_path / "state") as supervisor:
        server = prometheus.Prometheus(supervisor, targets={}, rules=[rules])
        with pytest.raises(Problem, match=r"(?s)^prometheus did not start: .*rules\.yml.*parse"):
            server.start()
