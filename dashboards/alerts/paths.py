# ruff: noqa: E501 -- PromQL is read best in few lines
"""Alerts of paths: what does not arrive, and what is lost."""

from __future__ import annotations

from typing import Final

from dashboards.alerts.rules import Alert

ALERTS: Final = (
    Alert(
        "PathSilent",
        about=(
            "By the accounting: nothing delivered of what was sent. Or by the probes' own counts, which"
            " need no pipeline: nothing received for a minute while an end is held up, for a network that"
            " takes nothing has no outage of what was sent."
        ),
        expr="""
            (
              max by (mesh, path) (inflight_path_outage_seconds) > 30
                and on (mesh, path) min by (mesh, path) (inflight_probe_end_up) == 1
              or
              60 + (sum by (mesh, path) (increase(inflight_probe_messages_total{outcome="received"}[1m])) == 0)
                and on (mesh, path) (min by (mesh, path) (max_over_time(inflight_probe_end_up[1m])) == 0)
                and on (mesh, path) sum by (mesh, path) (inflight_probe_messages_total{outcome="received"} offset 1m)
            )
            unless on (mesh, path) inflight_path_maintenance == 1
        """,
        severity="page",
        summary="Path {{ $labels.path }}: nothing delivered for {{ $value | humanizeDuration }} or more",
        where="missing",
        board="path",
    ),
    Alert(
        "AcceptedMessagesLost",
        about=(
            "Now less the least of ten minutes: whole messages, where increase() would stretch them to"
            " fractions. What a later revision found after all is taken off, what it found missing is"
            " added."
        ),
        expr="""
            (
              sum by (mesh, path) (
                inflight_path_messages_total{class="lost"}
                  - min_over_time(inflight_path_messages_total{class="lost"}[10m])
              )
              + sum by (mesh, path) (
                inflight_path_reclassified_messages_total{to="lost"}
                  - min_over_time(inflight_path_reclassified_messages_total{to="lost"}[10m])
              )
              - sum by (mesh, path) (
                inflight_path_reclassified_messages_total{from="lost"}
                  - min_over_time(inflight_path_reclassified_messages_total{from="lost"}[10m])
              )
            ) >= 1
            and on (mesh, path) inflight_path_info{settlement="acknowledged"}
            unless on (mesh, path) max_over_time(inflight_path_maintenance[10m]) == 1
        """,
        severity="page",
        summary="Path {{ $labels.path }}: {{ $value | humanize }} accepted messages lost within ten minutes",
        where="missing",
        board="path",
    ),
)
