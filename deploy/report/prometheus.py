"""What only Prometheus knows: when the first alert fired, and what an exporter told that is gone."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlsplit

from collectors.contract.events import Event
from collectors.http import client
from dashboards.alerts.events import ALERTED_SECONDS, FIRING
from deploy.errors import Problem
from deploy.report.model import Alert
from streaming.exporter.event_metrics import at_label

_TIMEOUT_SECONDS: Final = 20.0
_BEFORE_SECONDS: Final = 300  # an alert that fired so shortly before the event is none of it
_KEPT_SECONDS: Final = 3_600  # for as long the exporter tells an event after its end


def first_alert(url: str, event: Event, ended_ns: int) -> Alert | None:
    """Return the first alert that began to fire from the event's begin on. Raises Problem."""
    until_s = math.ceil(ended_ns / 1e9) + ALERTED_SECONDS
    length_s = until_s - event.at_ns // 10**9 + _BEFORE_SECONDS
    begins: list[tuple[float, str]] = []
    for labels, samples in _ask(url, f"{FIRING}[{length_s}s]", min(until_s, time.time())):
        first_s = min(at_s for at_s, _ in samples)
        if first_s >= event.at_ns / 1e9:
            begins.append((first_s, str(labels.get("alertname", ""))))
    if not begins:
        return None
    at_s, name = min(begins)
    return Alert(name, max(0, round(at_s * 1e9) - event.at_ns))


def detected(url: str, event: Event, ended_ns: int) -> int | None:
    """Return how long after its begin the event was seen, as the exporter told it. Raises Problem."""
    until_s = math.ceil(ended_ns / 1e9) + _KEPT_SECONDS
    series = f'inflight_event_detected_seconds{{kind="{event.kind}",at="{at_label(event)}"}}'
    length_s = until_s - event.at_ns // 10**9
    values = [
        value
        for _, samples in _ask(url, f"{series}[{length_s}s]", min(until_s, time.time()))
        for _, value in samples
    ]
    return round(min(values) * 1e9) if values else None


def _ask(url: str, query: str, at_s: float) -> Iterator[tuple[dict[str, Any], list[tuple[float, float]]]]:
    """Yield the series of a query over a range, each with its samples as they were scraped."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise Problem(f"--prometheus {url}: write its address like http://127.0.0.1:9090")
    address = f"{url.rstrip('/')}/api/v1/query?query={quote(query)}&time={at_s:.3f}"
    try:
        answer = client.get(address, time.monotonic() + _TIMEOUT_SECONDS)
        body = json.loads(answer.body)
        if answer.status != 200:  # noqa: PLR2004 -- HTTP's own
            raise Problem(f"Prometheus at {url} answered {answer.status}: {str(body.get('error'))[:200]}")
        for series in body["data"]["result"]:
            samples = [(float(at), float(value)) for at, value in series["values"]]
            if not all(math.isfinite(number) for sample in samples for number in sample):
                raise ValueError("a figure that is none")
            if samples:
                yield dict(series["metric"]), samples
    except OSError as error:
        raise Problem(f"Prometheus at {url} cannot be asked: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Problem(f"{url} does not answer as Prometheus does: {type(error).__name__}: {error}") from None
