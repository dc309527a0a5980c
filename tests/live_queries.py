"""Every PromQL expression of dashboards and rules, and which may be empty on a network that is well."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from dashboards import build
from dashboards.alerts import files
from dashboards.panel_queries import fill, queries
from deploy.embedded import http

# Grafana's own variables, as wide as a short run needs them.
_OWN = {"$__rate_interval": "1m", "$__range": "10m", "$__interval": "15s"}

# Panels whose queries have nothing to tell where nothing is wrong, or not yet; the reason beside each.
MAY_BE_EMPTY = {
    "annotation Events": "nothing was done to the network",
    "annotation Maintenance": "nothing was done to the network",
    "annotation Router starts": "the routers run for longer",
    "annotation Routers down": "all are up",
    "annotation Routers cut off": "there is a way to each",
    "Faults and works": "nothing was done to the network",
    "What was done, and what it did": "nothing was done to the network",
    "Where": "no message was lost or refused",
    "Backlog by hop, the largest": "nothing waits",
    "Queues at risk": "every queue has a consumer",
    "Queues": "`Empty in` is of queues that shrink",
    "Not delivered": "whatever was acknowledged was accepted",
    "Not up": "all are up",
    "Put aside": "nothing was put aside",
    "Left out": "no filter and no cap applies",
    "Fullest addresses": "an address may have no limit",
    "Links of brokers": "the broker has none",
    "Waiting for links": "the broker has none",
    "Slow deliveries": "told where a router counts them",
}
# Series that such a run does not have.
MAY_BE_MISSING = {
    **dict.fromkeys(
        (
            "inflight_event_active",
            "inflight_event_begun_timestamp_seconds",
            "inflight_event_ended_timestamp_seconds",
            "inflight_event_detected_seconds",
            "inflight_event_recovered_seconds",
            "inflight_event_lost_messages",
            "inflight:event_alerted:seconds",
        ),
        "nothing was done to the network",
    ),
    "inflight:alert_began:timestamp_seconds": "no alert began to fire",
    "inflight_collector_omitted_series": "no filter and no cap applies",
    "inflight_router_cut_off": "there is a way to each router",
    "inflight_router_link_route_up": "the line has auto-links and no link routes",
    "inflight_broker_link_up": "the broker has no links",
    "inflight_broker_link_messages": "the broker has no links",
    "inflight_broker_link_messages_limit": "the broker has no links",
    "inflight_path_service_latency_seconds_bucket": "off by default",
}


def panels() -> Iterator[tuple[str, str]]:
    """Return name and expression of each panel's query, with a value for each variable."""
    for board in build.dashboards().values():
        for query in queries(board):
            expression = fill(query.expression)
            for name, value in _OWN.items():
                expression = expression.replace(name, value)
            yield query.panel, expression


def rules() -> Iterator[tuple[str, str]]:
    """Name and expression of each recording and alerting rule, those that are off by default too."""
    for file in map(files.FOLDER.joinpath, files.texts()):
        yield from _rules(file)


def _rules(file: Path) -> Iterator[tuple[str, str]]:
    for group in yaml.safe_load(file.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]


def ask(prometheus_url: str, expression: str) -> list[Any]:
    """Return what Prometheus finds in the last ten minutes; raises if it refuses the query.

    A range, for what is told of the newest window is gone when nothing is sent any more.
    """
    now = time.time()
    asked = urlencode({"query": expression, "start": now - 600, "end": now, "step": "1s"})
    answer = json.loads(http.get(f"{prometheus_url}/api/v1/query_range?{asked}"))
    found: list[Any] = answer["data"]["result"]
    return found


def ask_now(prometheus_url: str, expression: str) -> list[Any]:
    """What Prometheus finds at this moment."""
    answer = json.loads(http.get(f"{prometheus_url}/api/v1/query?{urlencode({'query': expression})}"))
    found: list[Any] = answer["data"]["result"]
    return found
