"""How soon an alert told of an event: only Prometheus knows when its alerts fired."""

from __future__ import annotations

from typing import Final

from dashboards.alerts import brokers, budgets, paths, routers
from dashboards.alerts.rules import Recording

INTERVAL: Final = "5s"
ALERTED_SECONDS: Final = 120  # an alert that fires later after an event's end is another trouble's
# Of the network; those of the monitor itself tell nothing of an event.
NAMES: Final = tuple(
    dict.fromkeys(
        alert.name
        for group in (paths, budgets, routers, brokers)
        for alert in group.ALERTS
        if alert.severity != "info"
    )
)
_LABELS: Final = "kind, do, what, text, at"
FIRING: Final = f'ALERTS{{alertstate="firing",alertname=~"{"|".join(NAMES)}"}}'

_FIRST: Final = "scalar(min_over_time(inflight:alert_began:timestamp_seconds[2m]))"

RECORDINGS: Final = (
    Recording(
        "inflight:alert_began:timestamp_seconds",
        f"""
            vector(time()) and on () count(
              {FIRING}
                unless {FIRING} offset {INTERVAL}
            ) > 0
        """,
        about="At the moments only at which an alert of the network begins to fire.",
    ),
    Recording(
        "inflight:event_alerted:seconds",
        f"""
            {_FIRST} - max by ({_LABELS}) (inflight_event_begun_timestamp_seconds) >= 0
            unless on ({_LABELS})
              {_FIRST} - max by ({_LABELS}) (inflight_event_ended_timestamp_seconds) > {ALERTED_SECONDS}
        """,
        about=(
            "From an event's begin until alerts began to fire: the least of it over the time is of the first"
            " one. Two minutes back, as the event may be scraped after the alert. What fired before the event"
            " tells nothing of it, nor do alerts of the monitor itself, nor those two minutes after its end."
        ),
    ),
)
