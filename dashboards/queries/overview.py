# ruff: noqa: E501 -- PromQL is read best in few lines
"""Queries about all paths at once."""

from __future__ import annotations

from typing import Final

from dashboards.promql import expand
from dashboards.queries.counted import messages_of_class, rise_over_range, rise_since_start
from dashboards.queries.path_state import in_state, state

_ALL: Final = 'mesh=~"$mesh"'

LOST: Final = messages_of_class("lost", _ALL)
LOST_ALL: Final = f"sum({LOST})"

PATHS: Final = expand('count(path_info{mesh=~"$mesh"})')
IN_OUTAGE: Final = in_state("outage", _ALL)
SUSPECT: Final = expand('sum(path_suspect_messages{mesh=~"$mesh"})')
TOO_SLOW: Final = in_state("slow", _ALL)
ROUTERS_UP: Final = expand('sum(router_up{mesh=~"$mesh"}) / count(router_up{mesh=~"$mesh"})')
DIFFERENCES: Final = expand('sum(mesh_topology_differences{mesh=~"$mesh"})')
LAG: Final = expand("max(stream_lag_seconds)")
ENDS_DOWN: Final = expand('count(probe_end_up{mesh=~"$mesh"} == 0) or vector(0)')

STATE: Final = state(_ALL)

# Columns of the table, by mesh and path.
P50: Final = expand(
    'max by (mesh, path) (path_window_latency_seconds{mesh=~"$mesh",basis="response",quantile="0.5"})'
)
# Of five minutes: a window of few messages has no p99.
P99: Final = expand(
    "histogram_quantile(0.99, sum by (le, mesh, path)"
    ' (rate(path_response_latency_seconds_bucket{mesh=~"$mesh"}[5m])))'
)
WORST: Final = expand(
    'max by (mesh, path) (path_window_latency_seconds{mesh=~"$mesh",basis="response",quantile="1"})'
)
SHARE_OF_BOUND: Final = expand(f"{P99} / on (mesh, path) min by (mesh, path) (path_slo_bound_seconds)")
# A path of which nothing came has a gap in its line: all lines are as long.
SPARK: Final = expand(
    "histogram_quantile(0.99, sum by (le, mesh, path)"
    ' (rate(path_response_latency_seconds_bucket{mesh=~"$mesh"}[$__rate_interval])))'
    ' or max by (mesh, path) (path_info{mesh=~"$mesh"}) * nan'
)
RECEIVED: Final = expand(
    'sum by (mesh, path) (rate(probe_messages_total{mesh=~"$mesh",outcome="received"}[1m]))'
)
MISSING: Final = expand('max by (mesh, path) (path_suspect_messages{mesh=~"$mesh"})')
AGE: Final = expand(
    'max by (mesh, path) (clamp_min(time() - path_last_received_timestamp_seconds{mesh=~"$mesh"}, 0))'
)

BUDGET_LEAST: Final = expand('clamp_min(min by (mesh, path) (path_slo_budget_left_ratio{mesh=~"$mesh"}), 0)')
_BUDGETS: Final = 'bottomk(8, max by (mesh, path, slo) (path_slo_budget_left_ratio{mesh=~"$mesh"}))'
BUDGETS_LEFT: Final = expand(f"clamp_min({_BUDGETS}, 0)")
BUDGETS_USED: Final = expand(f"1 - {_BUDGETS}")
# In ms, as Grafana has moments.
OVERSPENT_SINCE: Final = expand(
    f"1000 * max by (mesh, path, slo) (path_slo_overspent_since_timestamp_seconds) and {_BUDGETS}"
)

WORST_P99: Final = f"topk(5, {P99})"
MISSING_BY_PATH: Final = expand('sum by (path) (path_suspect_messages{mesh=~"$mesh"})')
# Counted from the beginning of the shown time: exact, where increase() would stretch, and no window is missed.
_LOST: Final = 'sum by (path) (path_messages_total{mesh=~"$mesh",class="lost"}'
LOST_BY_PATH: Final = expand(f"{_LOST}) - ({_LOST} @ start()) or 0 * {_LOST}))")
QUEUES_AT_RISK: Final = expand(
    'topk(5, broker_queue_messages{mesh=~"$mesh"} > 0 and on (mesh, broker, queue) broker_queue_consumers == 0)'
)


def _by_ends(counted: str) -> str:
    """Return a count of paths by the end points that they lead from and to."""
    ends = 'max by (mesh, path, source, target) (path_info{mesh=~"$mesh"})'
    return f"sum by (source, target) ({counted} * on (mesh, path) group_left (source, target) {ends})"


LOST_SHARE: Final = expand(
    f"{_by_ends(LOST)} / ({_by_ends(rise_since_start(f'path_sent_messages_total{{{_ALL}}}'))} > 0)"
)
_UNDELIVERED: Final = 'router_link_undelivered_messages{mesh=~"$mesh"'
_HOP_BACKLOGS: Final = (
    # Between routers, before receivers, in queues.
    f"""label_join(sum by (mesh, router, peer) ({_UNDELIVERED},peer!="",type!="router-control"}}), "hop", " → ", "router", "peer")""",
    f"""label_join(sum by (mesh, router, address) ({_UNDELIVERED},address!~"_internal|"}}), "hop", " → ", "router", "address")""",
    """label_join(sum by (mesh, broker, queue) (broker_queue_messages{mesh=~"$mesh"}), "hop", ": ", "broker", "queue")""",
)
HOP_BACKLOG: Final = expand(f"topk(8, sum by (hop) ({' or '.join(_HOP_BACKLOGS)}) > 0)")
# When each was first heard of in the shown time, in ms, as Grafana has moments.
EVENTS: Final = expand(
    "min by (kind, text) (min_over_time(timestamp(event_active)[$__range:$__interval])) * 1000"
)
_OF_EVENT: Final = "by (kind, do, what, text, at)"


def _of_event(metric: str) -> str:
    """Return what was told last of each event in the shown time."""
    return expand(f"max {_OF_EVENT} (last_over_time({metric}[$__range]))")


EVENT_BEGUN: Final = f"1000 * {_of_event('event_begun_timestamp_seconds')}"
EVENT_LASTED: Final = (
    f"{_of_event('event_ended_timestamp_seconds')} - {_of_event('event_begun_timestamp_seconds')}"
)
EVENT_DETECTED: Final = _of_event("event_detected_seconds")
EVENT_RECOVERED: Final = _of_event("event_recovered_seconds")
EVENT_TOUCHED: Final = _of_event("event_touched_paths")
EVENT_LOST: Final = _of_event("event_lost_messages")
# It is there at the moments only at which an alert begins to fire: the least is the first one's.
EVENT_ALERTED: Final = f"min {_OF_EVENT} (min_over_time(inflight:event_alerted:seconds[$__range]))"
PROGRESS: Final = expand('time() - min(stream_last_progress_timestamp_seconds{query=~"accounting-.*"})')
ERRORS: Final = expand(f"sum({rise_over_range('exporter_accounting_errors_total')})")
