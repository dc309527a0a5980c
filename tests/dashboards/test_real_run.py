"""Every PromQL expression of dashboards and rules, on a real Prometheus over the parts of a real run."""

from __future__ import annotations

from collections.abc import Iterator

import live_queries
import pytest
from helpers import missing, wait_until

from dashboards.alerts import grafana_rules
from dashboards.promql import metrics
from deploy.demo.stack import Stack
from deploy.embedded.programs import prometheus
from deploy.embedded.supervise.supervisor import Supervisor

pytestmark = pytest.mark.e2e

BOUND_SECONDS = 180


@pytest.fixture(scope="module")
def prometheus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demonstration's stack, without its fault."""
    if prometheus.program() is None:
        missing("prometheus")
    with Supervisor(tmp_path_factory.mktemp("real-run")) as supervisor:
        stack = Stack(supervisor, lambda _: None, stand_ins=True)
        stack.start_network()
        stack.start_parts()
        url = stack.start_prometheus()
        assert url is not None
        yield url


def test_each_panel_finds_what_it_asks_for(prometheus_url: str) -> None:
    """All queries parse, and those that need not be empty have data."""
    asked = list(live_queries.panels())
    assert len(asked) > 150
    for name, expression in asked:
        if name in live_queries.MAY_BE_EMPTY:
            live_queries.ask(prometheus_url, expression)
            continue
        wait_until(
            lambda expression=expression: live_queries.ask(prometheus_url, expression),
            BOUND_SECONDS,
            f"data in {name}: {expression}",
            every_seconds=0.5,
        )


def test_each_rule_reads_series_that_are_there(prometheus_url: str) -> None:
    """Rules find nothing where nothing is wrong: so each series that they read is looked for."""
    recorded = grafana_rules.recorded()
    for name, expression in live_queries.rules():
        live_queries.ask(prometheus_url, expression)
        for series in metrics(expression) - live_queries.MAY_BE_MISSING.keys():
            what = recorded.get(series, series)
            wait_until(
                lambda what=what: live_queries.ask(prometheus_url, f"count({what})"),
                BOUND_SECONDS,
                f"{series}, which {name} reads",
                every_seconds=0.5,
            )


def test_nothing_fires_where_nothing_is_wrong(prometheus_url: str) -> None:
    """On a quiet network no alert of the paths, routers and brokers wakes anybody."""
    found = live_queries.ask(prometheus_url, 'ALERTS{alertstate="firing",severity="page"}')
    latency = [alert for alert in found if alert["metric"]["alertname"] == "LatencyBudgetBurn"]
    assert found == latency  # a busy machine is slow, and that is told rightly
