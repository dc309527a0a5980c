"""PromQL with short names: what is expanded, and what is refused."""

from __future__ import annotations

import pytest

from dashboards.promql import UnknownMetricError, expand, metrics


def test_metrics_get_their_full_names() -> None:
    """Names of metrics are completed; labels, strings, functions, ranges and variables stay as they are."""
    assert expand(
        'sum by (path) (rate(path_messages_total{class="path_info",mesh="$mesh"}[$__interval]))'
    ) == ('sum by (path) (rate(inflight_path_messages_total{class="path_info",mesh="$mesh"}[$__interval]))')


def test_histograms_have_three_series() -> None:
    """A histogram is read by its buckets, its sum and its count, and not by its bare name."""
    assert expand("path_response_latency_seconds_bucket") == "inflight_path_response_latency_seconds_bucket"
    with pytest.raises(UnknownMetricError, match="path_response_latency_seconds"):
        expand("path_response_latency_seconds")


def test_what_nobody_exports_is_refused() -> None:
    """A misspelt metric is found when dashboards are built, and not by an empty panel."""
    with pytest.raises(UnknownMetricError, match=r"'path_mesages_total' is in no catalogue.*sum\("):
        expand("sum(path_mesages_total)")


def test_expanding_twice_is_expanding_once() -> None:
    """Expressions are put together from others that were expanded before."""
    once = expand("max(stream_lag_seconds)")
    assert expand(f"{once} > 3") == "max(inflight_stream_lag_seconds) > 3"


def test_series_that_an_expression_reads() -> None:
    """Recorded series are told, too; Prometheus' own `up` is not ours."""
    found = metrics('inflight:x:rate5m > 2 and on (path) inflight_path_info{via="up"} unless up == 0')
    assert found == {"inflight:x:rate5m", "inflight_path_info"}
