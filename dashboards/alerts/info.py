# ruff: noqa: E501 -- PromQL is read best in few lines
"""Rules that are off by default: worth a look, never a ticket."""

from __future__ import annotations

from typing import Final

from dashboards.alerts.rules import Alert

ALERTS: Final = (
    Alert(
        "DuplicatesReceived",
        expr="""
            sum by (mesh, path) (
              inflight_path_duplicate_messages_total - min_over_time(inflight_path_duplicate_messages_total[10m])
            ) >= 1
        """,
        severity="info",
        summary="Path {{ $labels.path }}: {{ $value | humanize }} copies within ten minutes",
        board="path",
        section="info",
    ),
    Alert(
        "MessagesReordered",
        expr="""
            sum by (mesh, path) (increase(inflight_path_reordered_messages_total[10m]))
              / sum by (mesh, path) (increase(inflight_path_sent_messages_total[10m])) > 0.001
        """,
        severity="info",
        summary="Path {{ $labels.path }}: {{ $value | humanizePercentage }} out of order",
        board="path",
        section="info",
    ),
    Alert(
        "JitterHigh",
        expr="""
            max by (mesh, path) (inflight_path_window_jitter_seconds{quantile="0.99"})
              > 5 * max by (mesh, path) (inflight_path_window_latency_seconds{basis="response",quantile="0.5"})
        """,
        hold="10m",
        severity="info",
        summary=(
            "Path {{ $labels.path }}: jitter of {{ $value | humanizeDuration }}, five times the usual latency"
        ),
        board="path",
        section="info",
    ),
    Alert(
        "MessagesExpired",
        expr="""
            sum by (mesh, broker, queue) (
              inflight_broker_queue_expired_messages_total
                - min_over_time(inflight_broker_queue_expired_messages_total[10m])
            ) >= 1
        """,
        severity="info",
        summary="Queue {{ $labels.queue }} on {{ $labels.broker }}: {{ $value | humanize }} messages expired",
        board="brokers",
        section="info",
    ),
    Alert(
        "RouterRestarted",
        expr="time() - inflight_router_start_time_seconds < 300",
        severity="info",
        summary="Router {{ $labels.router }} started {{ $value | humanizeDuration }} ago",
        board="routers",
        section="info",
    ),
)
