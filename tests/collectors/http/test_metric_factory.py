"""Metrics are made from the catalogue, in one place, and in three forms that say the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from collectors.contract.metrics import CATALOGUE, MetricValue
from collectors.http import metric_factory
from collectors.http.metric_factory import Buckets, HistogramValue, MetricSource

PROJECT = Path(__file__).parents[3]
FACTORY = "collectors/http/metric_factory.py"
ODD = 'a"b\\c\nd'
WRITTEN = 'a\\"b\\\\c\\nd'


class Source(MetricSource):
    def __init__(self, *values: MetricValue | HistogramValue, always: tuple[str, ...] = ()) -> None:
        self._values = values
        self.always = always

    def values(self) -> Iterator[MetricValue]:
        yield from self._values


def _served(*values: MetricValue | HistogramValue, always: tuple[str, ...] = ()) -> str:
    registry = CollectorRegistry()
    registry.register(Source(*values, always=always))
    return generate_latest(registry).decode()


def _head(name: str, kind: str) -> str:
    return f"# HELP inflight_{name} {CATALOGUE[name].help}\n# TYPE inflight_{name} {kind}\n"


def test_a_source_is_told_by_the_catalogue() -> None:
    """Type and help are its own, an info metric is a gauge; values that come apart stand together."""
    assert _served(
        ("mesh_up", (ODD,), 1),
        ("broker_info", ("m", "b", "2.44", "artemis", "live"), 1),
        ("mesh_up", ("n",), 0),
    ) == (
        _head("mesh_up", "gauge")
        + f'inflight_mesh_up{{mesh="{WRITTEN}"}} 1.0\ninflight_mesh_up{{mesh="n"}} 0.0\n'
        + _head("broker_info", "gauge")
        + 'inflight_broker_info{broker="b",ha_role="live",mesh="m",product="artemis",version="2.44"} 1.0\n'
    )


def test_a_metric_without_values_has_its_head() -> None:
    """Where the source says so: dashboards find it before its first value."""
    assert _served(always=("collector_bad_replies_total",)) == _head("collector_bad_replies_total", "counter")


def test_a_histogram_in_both_forms() -> None:
    """Counts of buckets are added up; the text form has the same lines."""
    buckets = Buckets((0.5, 1.0), (2, 0, 3), 7.25)
    served = _served(("collector_poll_seconds", ("router", "prod"), buckets)).splitlines()
    labels = 'collector="router",target="prod"'
    assert metric_factory.label_text("collector_poll_seconds", ("router", "prod")) == labels
    written = metric_factory.histogram_lines("collector_poll_seconds", labels, buckets.cumulative(), 7.25)
    assert written.splitlines() == [
        f'inflight_collector_poll_seconds_bucket{{{labels},le="0.5"}} 2',
        f'inflight_collector_poll_seconds_bucket{{{labels},le="1.0"}} 2',
        f'inflight_collector_poll_seconds_bucket{{{labels},le="+Inf"}} 5',
        f"inflight_collector_poll_seconds_sum{{{labels}}} 7.25",
        f"inflight_collector_poll_seconds_count{{{labels}}} 5",
    ]
    assert [line.split()[-1] for line in served[2:]] == ["2.0", "2.0", "5.0", "5.0", "7.25"]


def test_labels_that_are_not_the_catalogues_are_a_mistake() -> None:
    """In every form: they must not reach Prometheus."""
    with pytest.raises(ValueError, match="longer"):
        _served(("mesh_up", ("a", "b"), 1))
    with pytest.raises(ValueError, match="shorter"):
        metric_factory.label_text("router_up", ("a",))
    with pytest.raises(TypeError, match="not all"):
        metric_factory.line_form("mesh_up") % ("a", "b", 1)


def test_text_is_quoted() -> None:
    """Whatever a label holds is one value on one line."""
    assert metric_factory.line_form("mesh_up") % (metric_factory.quote(ODD), 1) == (
        f'inflight_mesh_up{{mesh="{WRITTEN}"}} 1\n'
    )
    assert metric_factory.head("mesh_up") == _head("mesh_up", "gauge")


def test_nobody_else_makes_metrics() -> None:
    """Of prometheus-client the others take the registry, and what serves it."""
    others = {}
    for folder in ("collectors", "streaming", "dashboards", "deploy"):
        for file in (PROJECT / folder).rglob("*.py"):
            name = str(file.relative_to(PROJECT))
            taken = {
                alias.name
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prometheus_client")
                for alias in node.names
            }
            if name != FACTORY and taken - {"CollectorRegistry"}:
                others[name] = taken
    assert others == {"collectors/http/part_server.py": {"CollectorRegistry", "choose_encoder"}}
