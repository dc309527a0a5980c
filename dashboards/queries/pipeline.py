"""Queries about the monitor itself."""

from __future__ import annotations

from typing import Final

from dashboards.promql import expand
from dashboards.queries.counted import messages_of_class, rise_over_range, rise_per_step, rise_since_start

_ALL: Final = 'mesh=~"$mesh"'

# The whole shown time: the histogram is empty for seconds at a time when nothing is received.
FRESHNESS: Final = expand(
    "histogram_quantile(0.99, sum by (le) (rate(exporter_freshness_seconds_bucket[5m])))"
)
FRESHNESS_P50: Final = expand(
    "histogram_quantile(0.5, sum by (le) (rate(exporter_freshness_seconds_bucket[5m])))"
)
ERRORS: Final = expand(f"sum({rise_over_range('exporter_accounting_errors_total')})")
LAG: Final = expand("max by (query) (stream_lag_seconds)")
PROGRESS: Final = expand('time() - min(stream_last_progress_timestamp_seconds{query=~"accounting-.*"})')
ENDS_UP: Final = expand('sum(probe_end_up{mesh=~"$mesh"}) / count(probe_end_up{mesh=~"$mesh"})')
SPOOL: Final = expand(
    "max by (part, site) (sink_spool_bytes) / max by (part, site) (sink_spool_limit_bytes > 0)"
)
SPOOL_WORST: Final = f"max({SPOOL})"
OLDEST: Final = expand("max by (part, site) (sink_oldest_record_seconds)")
CONFIGS: Final = expand("count(count by (config_hash) (build_info))")
UNOBSERVED: Final = expand(
    f"sum({messages_of_class('unobserved', _ALL)})"
    f" / (sum({rise_since_start(f'path_messages_total{{{_ALL}}}')}) > 0)"
)

PHASES: Final = expand(
    "sum by (phase) (rate(stream_batch_seconds_sum[$__rate_interval]))"
    " / (sum by (phase) (rate(stream_batch_seconds_count[$__rate_interval])) > 0)"
)
RECORDS: Final = expand("sum by (query) (rate(stream_records_total[$__rate_interval]))")
SAMPLES: Final = expand("sum by (query) (rate(stream_samples_total[$__rate_interval]))")
STATE: Final = expand("sum by (query) (stream_state_bytes)")
DEAD_ALL: Final = expand(f"sum({rise_per_step('stream_dead_letters_total')})")
IGNORED_ALL: Final = expand(f"sum({rise_per_step('stream_ignored_total')})")
# By reason only those that there were any of in the shown time.
DEAD: Final = expand(
    f"sum by (reason) ({rise_per_step('stream_dead_letters_total')})"
    " and sum by (reason) (increase(stream_dead_letters_total[$__range])) > 0"
)
IGNORED: Final = expand(
    f"sum by (reason) ({rise_per_step('stream_ignored_total')})"
    " and sum by (reason) (increase(stream_ignored_total[$__range])) > 0"
)
LOST_RECORDS: Final = expand(f"sum({rise_per_step('stream_records_lost_total')})")
DROPPED: Final = expand(f"sum by (part) ({rise_per_step('sink_dropped_seconds_total')})")
RESTARTS: Final = expand(f"sum({rise_per_step('stream_restarts_total')})")
ENDS: Final = expand('min by (path, end) (probe_end_up{mesh=~"$mesh"})')
SCHEDULE_LAG: Final = expand(
    "histogram_quantile(0.99, sum by (le) (rate(probe_schedule_lag_seconds_bucket[$__rate_interval])))"
)
POLLS: Final = expand("sum by (collector, result) (rate(collector_polls_total[$__rate_interval])) > 0")
POLL_P99: Final = expand(
    "histogram_quantile(0.99, sum by (le, collector, target) (rate(collector_poll_seconds_bucket[5m])))"
)
OMITTED: Final = expand("sum by (collector, target, entity) (collector_omitted_series) > 0")
ROWS: Final = expand("sum by (topic, result) (rate(exporter_rows_total[$__rate_interval])) > 0")
