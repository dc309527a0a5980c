"""The live page in a real Chromium; a real Grafana over a real Prometheus, and a token for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, Page
from helpers import missing
from made_exporter import Served
from running import Running

import dashboards
from deploy.embedded import http
from deploy.embedded.programs import grafana, prometheus
from deploy.embedded.supervise.supervisor import Supervisor

RULES = Path(dashboards.__file__).parent / "rules"


@pytest.fixture(scope="session")
def running(grafana_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:  # noqa: ARG001 -- sets the environment
    """A Grafana without dashboards, with a data source that is not Inflight's own."""
    if prometheus.program() is None:
        missing("prometheus")
    with Supervisor(tmp_path_factory.mktemp("grafana")) as supervisor:
        rules = [RULES / "recording.rules.yml", RULES / "alerts.rules.yml"]
        server = prometheus.Prometheus(supervisor, targets={}, rules=rules).start()
        shown = grafana.Grafana(supervisor, prometheus_url=server.url).start()
        password = shown.password_file.read_text().strip()
        token_file = tmp_path_factory.mktemp("token") / "token"

        def ask(path: str, body: dict[str, str]) -> dict[str, str]:
            answer: dict[str, str] = http.post_json(
                f"{shown.url}/api{path}", body, user=shown.user, password=password, origin=shown.url
            )
            return answer

        account = ask("/serviceaccounts", {"name": "inflight", "role": "Admin"})
        token_file.write_text(ask(f"/serviceaccounts/{account['id']}/tokens", {"name": "one"})["key"] + "\n")
        yield Running(shown.url, server.url, token_file)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    opened = browser.page(served.url)
    opened.wait("document.querySelector('#paths tbody tr')", "the table")
    yield opened
    opened.close()
