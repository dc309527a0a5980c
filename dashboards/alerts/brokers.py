# ruff: noqa: E501 -- PromQL is read best in few lines
"""Alerts of brokers and their queues."""

from __future__ import annotations

from typing import Final

from dashboards.alerts.rules import Alert

ALERTS: Final = (
    Alert(
        "QueueGrowsWithoutConsumer",
        about="Inflight's own queues are left out: a backlog of the probes is PathSilent's business.",
        expr="""
            inflight_broker_queue_messages{queue!~"inflight[./].*"} > 100
            and inflight_broker_queue_consumers == 0
            and deriv(inflight_broker_queue_messages[10m]) > 0
        """,
        hold="5m",
        severity="ticket",
        summary=(
            "Queue {{ $labels.queue }} on {{ $labels.broker }} has {{ $value | humanize }} messages, no"
            " consumer, and grows"
        ),
        board="brokers",
    ),
    Alert(
        "BrokerLinkDown",
        about="A link may say that it is connected while its peer hangs; then nothing takes from its queue.",
        expr="inflight_broker_link_up == 0",
        hold="2m",
        severity="ticket",
        summary=(
            "Broker {{ $labels.broker }}: the {{ $labels.kind }} link {{ $labels.link }}{{ if $labels.to }} to"
            " {{ $labels.to }}{{ end }} is down"
        ),
        board="brokers",
    ),
    Alert(
        "BrokerLinkBacklog",
        about="The limit is the config's `link_backlog` of the broker.",
        expr="""
            inflight_broker_link_messages > on (mesh, broker) group_left () inflight_broker_link_messages_limit
            and deriv(inflight_broker_link_messages[10m]) > 0
        """,
        hold="5m",
        severity="ticket",
        summary=(
            "Broker {{ $labels.broker }}: {{ $value | humanize }} messages wait for the {{ $labels.kind }} link"
            " {{ $labels.link }}, and more come than go"
        ),
        board="brokers",
    ),
    Alert(
        "BrokerNearLimit",
        about=(
            "A broker at a limit blocks its producers. The prediction counts from half full on: the"
            " first minutes of a new store would predict anything."
        ),
        expr="""
            label_replace(inflight_broker_disk_ratio > 0.85, "limit", "disk", "", "")
            or label_replace(
              predict_linear(inflight_broker_disk_ratio[1h], 4 * 3600) > 0.9 and inflight_broker_disk_ratio > 0.5,
              "limit", "disk within four hours", "", ""
            )
            or label_replace(inflight_broker_address_memory_ratio > 0.9, "limit", "memory", "", "")
            or label_replace(inflight_broker_open_fds / inflight_broker_max_fds > 0.85, "limit", "file descriptors", "", "")
        """,
        hold="5m",
        severity="page",
        summary=(
            "Broker {{ $labels.broker }}: {{ $value | humanizePercentage }} of {{ $labels.limit }} in use"
        ),
        board="brokers",
    ),
    Alert(
        "BrokerPaging",
        expr="inflight_broker_address_paging == 1",
        hold="15m",
        severity="ticket",
        summary=(
            "Broker {{ $labels.broker }} has been paging address {{ $labels.address }} to disk for a"
            " quarter of an hour"
        ),
        board="brokers",
    ),
)
