"""What collectors show on /metrics."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from collectors.contract.metrics import CATALOGUE
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import RESULTS, PollMetrics


def text(*collectors: MetricCache | PollMetrics) -> str:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry).decode()


def test_values_are_of_the_catalogue() -> None:
    """Name, type and help are the catalogue's; labels stand in its order; any text is a label."""
    cache = MetricCache()
    cache.put("t", [("mesh_up", ('a"\\\n',), 1.0), ("router_outcomes_total", ("m", "r", "accepted"), 5.0)])
    registered, rendered = text(cache), cache.render()
    assert registered == (
        "# HELP inflight_mesh_up "
        + CATALOGUE["mesh_up"].help
        + "\n# TYPE inflight_mesh_up gauge\n"
        + 'inflight_mesh_up{mesh="a\\"\\\\\\n"} 1.0\n'
        + "# HELP inflight_router_outcomes_total "
        + CATALOGUE["router_outcomes_total"].help
        + "\n# TYPE inflight_router_outcomes_total counter\n"
        + 'inflight_router_outcomes_total{mesh="m",outcome="accepted",router="r"} 5.0\n'
    )
    # Prometheus does not care for the order of labels; the package sorts them, ours is the catalogue's.
    assert rendered == registered.replace('outcome="accepted",router="r"', 'router="r",outcome="accepted"')


def test_a_value_with_wrong_labels_is_a_mistake() -> None:
    """Labels that are not the catalogue's must not reach Prometheus."""
    cache = MetricCache()
    cache.put("t", [("mesh_up", ("a", "b"), 1.0)])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        text(cache)
    with pytest.raises(TypeError, match="not all"):
        cache.render()


def test_what_nobody_refreshes_vanishes_and_is_down() -> None:
    """A collector that hangs must not leave old values standing as if they were of now."""
    now = 0.0
    cache = MetricCache(clock=lambda: now)
    cache.put("t", [("router_up", ("m", "r"), 1.0), ("router_stuck_deliveries", ("m", "r"), 4.0)], 10)
    assert "stuck_deliveries{" in text(cache)
    assert "stuck_deliveries{" in cache.render()
    now = 11.0
    assert "stuck_deliveries{" not in text(cache)
    assert "stuck_deliveries{" not in cache.render()
    assert 'inflight_router_up{mesh="m",router="r"} 0.0' in cache.render()
    assert 'inflight_router_up{mesh="m",router="r"} 0.0' in text(cache)
    cache.drop("t")
    assert "router_up{" not in text(cache)


def test_values_are_made_when_they_are_wanted_and_once() -> None:
    """A mesh is polled more often than it is scraped."""
    cache, calls = MetricCache(), []

    def make() -> list[tuple[str, tuple[str, ...], float]]:
        calls.append(1)
        return [("mesh_up", ("m",), 1.0)]

    cache.put("t", make)
    assert not calls
    assert cache.render() == cache.render()
    assert 'inflight_mesh_up{mesh="m"} 1.0' in text(cache)
    assert len(calls) == 1
    cache.put("t", make)
    cache.put("other", [("mesh_up", ("n",), 0.0)])
    lines = cache.render().splitlines()
    assert lines[2:] == ['inflight_mesh_up{mesh="m"} 1.0', 'inflight_mesh_up{mesh="n"} 0.0']


def test_polls_exist_from_zero_on() -> None:
    """Every result is there before it happens, else the first failure has no increase."""
    poll_metrics = PollMetrics()
    poll_metrics.add_target(("router", "prod"))
    shown = text(poll_metrics)
    for result in RESULTS:
        assert f'polls_total{{collector="router",result="{result}",target="prod"}} 0.0' in shown
    poll_metrics.observe_seconds(("router", "prod"), 0.02)
    poll_metrics.observe_seconds(("router", "prod"), 99.0)
    shown = text(poll_metrics)
    assert 'poll_seconds_bucket{collector="router",le="0.01",target="prod"} 0.0' in shown
    assert 'poll_seconds_bucket{collector="router",le="0.025",target="prod"} 1.0' in shown
    assert 'poll_seconds_bucket{collector="router",le="+Inf",target="prod"} 2.0' in shown
    poll_metrics.remove_target(("router", "prod"))
    assert "prod" not in text(poll_metrics)
