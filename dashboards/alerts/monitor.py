# ruff: noqa: E501 -- PromQL is read best in few lines
"""Alerts of the monitor itself: what it does not see, and what is not of now."""

from __future__ import annotations

from typing import Final

from dashboards.alerts.rules import Alert

ALERTS: Final = (
    Alert(
        "MonitorBlind",
        expr="""
            label_replace(
              1 - min by (mesh, path, end, site) (inflight_probe_end_up) > 0, "reason", "probe end down", "", ""
            ) unless on (mesh, path) inflight_path_maintenance == 1
            or label_replace(
              sum by (mesh, path) (rate(inflight_path_messages_total{class="unobserved"}[10m]))
                / sum by (mesh, path) (rate(inflight_path_messages_total[10m])) > 0.01,
              "reason", "messages unobserved", "", ""
            ) unless on (mesh, path) inflight_path_maintenance == 1
            or label_replace(
              max by (mesh, path) (inflight_path_clock_error_bound_seconds)
                > max by (mesh, path) (inflight_path_window_latency_seconds{basis="response",quantile="0.5"}),
              "reason", "clocks less sure than the latency", "", ""
            )
            or label_replace(
              max by (part, site) (inflight_sink_spool_bytes / inflight_sink_spool_limit_bytes) > 0.5,
              "reason", "spool half full", "", ""
            )
            or label_replace(
              max by (part, site) (inflight_sink_oldest_record_seconds) > 60, "reason", "records late", "", ""
            )
            or label_replace(
              label_replace(
                sum by (site) (rate(inflight_probe_stood_still_seconds_total[10m])) > 0.01, "part", "probe", "", ""
              ),
              "reason", "stands still", "", ""
            )
            or label_replace(1 - min by (mesh) (inflight_mesh_up) > 0, "reason", "mesh not polled", "", "")
            or label_replace(1 - min by (mesh, broker) (inflight_broker_up) > 0, "reason", "broker not polled", "", "")
            or label_replace(
              sum by (topic) (increase(inflight_exporter_rows_total{result=~"bad|future|full"}[10m])) > 0,
              "reason", "rows left out", "", ""
            )
        """,
        hold="2m",
        severity="ticket",
        summary=(
            "The monitor sees less than it should: {{ $labels.reason }} ({{ with $labels.mesh }}mesh {{"
            " . }}{{ end }}{{ with $labels.path }} path {{ . }}{{ end }}{{ with $labels.broker }} broker"
            " {{ . }}{{ end }}{{ with $labels.end }} {{ . }}{{ end }}{{ with $labels.part }}{{ . }}{{ end"
            " }}{{ with $labels.topic }}topic {{ . }}{{ end }}{{ with $labels.site }} at {{ . }}{{ end }})"
        ),
        board="pipeline",
    ),
    Alert(
        "PipelineStalled",
        about=(
            "`inflight run` has no Spark job, and then nothing here of it. Prometheus, just started, has"
            " scraped no exporter."
        ),
        expr="""
            label_replace(
              time() - max by (query) (inflight_stream_last_progress_timestamp_seconds) > 30,
              "reason", "no progress", "", ""
            )
            or label_replace(max by (query) (inflight_stream_lag_seconds) > 60, "reason", "behind", "", "")
            or label_replace(
              sum(increase(inflight_exporter_accounting_errors_total[10m])) > 0, "reason", "books do not balance", "", ""
            )
            or label_replace(
              absent_over_time(inflight_exporter_accounting_errors_total[1m]), "reason", "no exporter", "", ""
            )
        """,
        hold="30s",
        severity="ticket",
        summary="The figures are not of now, or not right: {{ $labels.reason }}",
        board="pipeline",
    ),
    Alert(
        "Watchdog",
        about=(
            "Always fires: whoever stops hearing it has lost Prometheus, Alertmanager or the way from them."
        ),
        expr="vector(1)",
        severity="none",
        summary="Alerting works from end to end",
        board="pipeline",
    ),
)
