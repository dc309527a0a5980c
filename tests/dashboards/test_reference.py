"""The reference page of the metrics."""

from __future__ import annotations

from collectors.contract.metrics import CATALOGUE
from dashboards.reference import FILE, RUNBOOK, page, runbook, states, unit


def test_the_committed_page_is_current() -> None:
    """`python -m dashboards.reference` writes it anew after a change of the catalogue."""
    assert FILE.read_text(encoding="utf-8") == page()


def test_every_metric_is_told() -> None:
    """Each has a row with its help."""
    text = page()
    for metric in CATALOGUE.values():
        assert f"| `{metric.full_name}` | {metric.kind} |" in text
        assert metric.help
        assert "|" not in metric.help


def test_units_are_read_from_names() -> None:
    """As Prometheus' naming wants them."""
    assert unit(CATALOGUE["path_response_latency_seconds"]) == "seconds"
    assert unit(CATALOGUE["path_sent_bytes_total"]) == "bytes"
    assert unit(CATALOGUE["path_window_end_timestamp_seconds"]) == "seconds since 1970"
    assert unit(CATALOGUE["router_start_time_seconds"]) == "seconds since 1970"
    assert unit(CATALOGUE["router_up"]) == ""


def test_the_runbook_tells_the_states() -> None:
    """Who is woken reads there what the words mean: the table is the one of the reference."""
    text = RUNBOOK.read_text(encoding="utf-8")
    assert states() in text
    assert runbook() == text
