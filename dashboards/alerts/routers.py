# ruff: noqa: E501 -- PromQL is read best in few lines
"""Alerts of routers, their mesh and their links."""

from __future__ import annotations

from typing import Final

from dashboards.alerts.rules import Alert

ALERTS: Final = (
    Alert(
        "RouterDown",
        about="`peer`, too, for Alertmanager: what its neighbours say of their links to it is explained.",
        expr='label_replace(inflight_router_up == 0, "peer", "$1", "router", "(.*)")',
        hold="30s",
        severity="ticket",
        summary="Router {{ $labels.router }} of mesh {{ $labels.mesh }} does not answer",
        board="routers",
    ),
    Alert(
        "MeshSplit",
        about="Both sides answer: those that do not are RouterDown's.",
        expr="count by (mesh, from) (inflight_router_cut_off == 1)",
        hold="30s",
        severity="ticket",
        summary=(
            "Mesh {{ $labels.mesh }} is split: from {{ $labels.from }} there is no way to {{ range $n,"
            ' $one := printf "inflight_router_cut_off{mesh=%q,from=%q} == 1" $labels.mesh $labels.from |'
            ' query | sortByLabel "router" }}{{ if $n }}, {{ end }}{{ $one.Labels.router }}{{ end }},'
            " reached by another URL"
        ),
        board="routers",
        link_labels=("mesh",),
    ),
    Alert(
        "TopologyDiffers",
        expr="inflight_mesh_topology_differences > 0",
        hold="2m",
        severity="ticket",
        summary="Mesh {{ $labels.mesh }}: {{ $value }} × {{ $labels.kind }} against what the config expects",
        board="routers",
        link_labels=("mesh",),
    ),
    Alert(
        "LinkStalled",
        about=(
            "Undelivered, not unsettled: long-lived TCP streams of Skupper stay unsettled and are no stall."
        ),
        expr="""
            min_over_time(inflight_router_link_undelivered_messages{type!="router-control"}[1m]) > 0
            and increase(inflight_router_link_deliveries_total{type!="router-control"}[1m]) == 0
        """,
        severity="ticket",
        summary=(
            "Router {{ $labels.router }}: {{ $value }} messages wait for {{ $labels.peer }}{{"
            " $labels.address }}, and none went in a minute"
        ),
        board="routers",
    ),
    Alert(
        "CreditStarved",
        expr="""
            inflight_router_link_zero_credit_seconds{type!="router-control"} > 30
            and inflight_router_link_undelivered_messages > 0
        """,
        severity="ticket",
        summary=(
            "Router {{ $labels.router }}: {{ $labels.peer }}{{ $labels.address }} has given no credit"
            " for {{ $value | humanizeDuration }}, and messages wait"
        ),
        board="routers",
    ),
    Alert(
        "PresettledDrops",
        expr="""
            sum by (mesh, router) (rate(inflight_router_outcomes_total{outcome="dropped_presettled"}[5m]))
              / sum by (mesh, router) (rate(inflight_router_outcomes_total{outcome=~"presettled|dropped_presettled"}[5m]))
            > 0.001
        """,
        hold="5m",
        severity="ticket",
        summary="Router {{ $labels.router }} drops {{ $value | humanizePercentage }} of presettled messages",
        board="routers",
    ),
)
