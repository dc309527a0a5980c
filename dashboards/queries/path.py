# ruff: noqa: E501 -- PromQL is read best in few lines
"""Queries about one path."""

from __future__ import annotations

from typing import Final

from dashboards.promql import expand
from dashboards.queries.counted import messages_of_class, rise_per_step, rise_since_start
from dashboards.queries.path_state import state

_P: Final = 'mesh=~"$mesh",path="$path"'


def _one(expression: str) -> str:
    """Expand an expression in which `%` stands for the selection of the path."""
    return expand(expression.replace("%", _P))


STATE: Final = state(_P)
# Of a minute: a window of few messages has no p99.
P99: Final = _one("histogram_quantile(0.99, sum by (le) (rate(path_response_latency_seconds_bucket{%}[1m])))")
LOST: Final = messages_of_class("lost", _P)
REFUSED: Final = messages_of_class("refused", _P)
OUTAGE_TOTAL: Final = _one(f"sum({rise_since_start('path_outage_seconds_total{%}')})")
AGE: Final = _one("clamp_min(time() - max(path_last_received_timestamp_seconds{%}), 0)")
WHO: Final = _one("path_info{%}")

SLI: Final = _one(
    "sum by (slo) (rate(path_slo_good_messages_total{%}[1m]))"
    " / (sum by (slo) (rate(path_slo_messages_total{%}[1m])) > 0)"
)
BURN: Final = _one(
    "(1 - sum by (slo) (rate(path_slo_good_messages_total{%}[1h])) / (sum by (slo) (rate(path_slo_messages_total{%}[1h])) > 0))"
    " / (1 - max by (slo) (path_slo_objective_ratio{%}))"
)
BUDGET_LEFT: Final = _one("clamp_min(max by (slo) (path_slo_budget_left_ratio{%}), 0)")
BUDGET_USED: Final = _one("1 - max by (slo) (path_slo_budget_left_ratio{%})")
OVERSPENT_SINCE: Final = _one("1000 * max by (slo) (path_slo_overspent_since_timestamp_seconds{%})")

HEATMAP: Final = _one(f"sum by (le) ({rise_per_step('path_response_latency_seconds_bucket{%}')})")
RESPONSE: Final = _one('max by (quantile) (path_window_latency_seconds{%,basis="response"})')
SERVICE: Final = _one('max(path_window_latency_seconds{%,basis="service",quantile="1"})')
BOUND: Final = _one("min(path_slo_bound_seconds{%})")

CLASSES: Final = _one("sum by (class) (rate(path_messages_total{%}[$__rate_interval]))")
SUSPECT: Final = _one("sum(path_suspect_messages{%})")
PENDING: Final = _one("sum(path_pending_messages{%})")
OUTAGE: Final = _one("max(path_outage_seconds{%})")

JITTER: Final = _one("max by (quantile) (path_window_jitter_seconds{%})")
JITTER_MAX: Final = _one("max(path_window_jitter_max_seconds{%})")
JITTER_MIN: Final = _one("min(path_window_jitter_min_seconds{%})")

ODD: Final = {
    kind: _one(f"sum({rise_per_step(f'path_{kind}_messages_total{{%}}')})")
    for kind in ("duplicate", "redelivered", "reordered", "late", "unexpected", "foreign", "negative_latency")
}
ASKED: Final = _one("sum(rate(probe_schedule_lag_seconds_count{%}[$__rate_interval]))")
RECEIVED: Final = _one('sum(rate(probe_messages_total{%,outcome="received"}[$__rate_interval]))')
UNSENT: Final = _one("sum by (reason) (rate(path_unsent_messages_total{%}[$__rate_interval]))")
ENDS: Final = _one("min by (end, site) (probe_end_up{%})")


def _where(of: str) -> str:
    """Return the messages of a class by hop and cause: as first final, with what revisions changed."""
    first = rise_since_start(f'path_explained_messages_total{{%,class="{of}"}}', "hop, cause")
    rest = rise_since_start(f'path_unexplained_messages_total{{%,class="{of}"}}', "path")
    added, removed = (
        rise_since_start(
            f'path_reexplained_messages_total{{%,class="{of}",direction="{direction}"}}', "hop, cause"
        )
        for direction in ("added", "removed")
    )
    parts = {
        "first": first,
        "rest": f'label_replace({rest}, "cause", "unexplained", "", "")',
        "added": added,
        "removed": f"-{removed}",
    }
    apart = " or ".join(f'label_replace({part}, "part", "{name}", "", "")' for name, part in parts.items())
    # What no hop explains has none: a cell of a table needs a word.
    return _one(f'label_replace(sum by (hop, cause) ({apart}) > 0, "hop", "(no hop)", "hop", "")')


WHERE_LOST: Final = _where("lost")
WHERE_REFUSED: Final = _where("refused")
WHERE_DELAY: Final = _one("max by (hop, cause) (path_delay_explained_seconds{%})")


def _flow(way: str) -> str:
    """Return what entered or left each stop of the newest episode's route, beside each cause there."""
    # A route that comes by a hop twice has it once.
    route = f'topk by (hop) (1, max by (place, hop) (path_route_messages{{%,flow="{way}"}}))'
    lost = "max by (hop, cause) (path_explained_messages_total{%})"
    return _one(f"0 * {lost} + on (hop) group_left (place) {route} or {route} unless on (hop) {lost}")


WHERE_IN: Final = _flow("in")
WHERE_OUT: Final = _flow("out")

P50: Final = _one('max(path_window_latency_seconds{%,basis="response",quantile="0.5"})')
CLOCK: Final = _one("max(path_clock_offset_seconds{%})")
CLOCK_HIGH: Final = _one("max(path_clock_offset_seconds{%}) + max(path_clock_error_bound_seconds{%})")
CLOCK_LOW: Final = _one("max(path_clock_offset_seconds{%}) - max(path_clock_error_bound_seconds{%})")
